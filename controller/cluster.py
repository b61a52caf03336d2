"""The API server as the reconcilers ask for it, over the client of `shared.kube`."""

import logging

import msgspec

from controller.jobflow.cluster import Stored
from controller.own_writes import OwnWrites
from shared.api.job import Job
from shared.api.jobtemplate import JobTemplate
from shared.api.meta import Key, Named, ObjectMeta
from shared.kube.client import JSON_PATCH, KubeClient
from shared.kube.errors import NotFound
from shared.kube.resources import JOBFLOWS, JOBS, JOBTEMPLATES
from shared.kube.transport import Guard, Request

log = logging.getLogger(__name__)

METADATA_ALONE = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json"
"""Asks for metadata without spec and status. A JobFlow of a thousand entries has 600 KB, its metadata 1 KB."""

METADATA_OF_LIST = METADATA_ALONE.replace("PartialObjectMetadata", "PartialObjectMetadataList")

FEW = 32
"""Entries of a JobFlow that the API server decodes in no time."""


class _Listed(msgspec.Struct):
    items: tuple[Named, ...] | None = None


class KubeCluster:
    """What `controller.jobflow` and `controller.jobtemplate` need, each call one request.

    `guard` is called right before every write is sent, and prevents it by raising. Creates and deletes of Jobs have one
    of their own as well.
    """

    def __init__(self, client: KubeClient, guard: Guard | None = None) -> None:
        self._client = client
        self._guard = guard
        self.own_writes = OwnWrites()
        """Of the status of JobFlows."""

    async def get_jobflow(self, key: Key) -> Stored:
        """Read the JobFlow live. Raises NotFound."""
        request = Request("GET", JOBFLOWS.path(key.namespace, key.name))
        body = await self._client.read("get", JOBFLOWS, request)
        return Stored(JOBFLOWS.decode(body), len(body))

    async def get_jobflow_metadata(self, key: Key, entries: int) -> ObjectMeta:
        """Read the metadata of a JobFlow of so many entries live, and nothing else of it. Raises NotFound.

        A wide one is asked for as a list of one. Both are answered with what is so at that moment, but the API server
        has to read and decode the object from etcd for a get (54 ms of its CPU for one of 290 KB), and takes a list
        from its memory once it knows that to be current (1 ms; Kubernetes 1.31 and newer; before that it is a read as
        well). While anything else is written it knows so only every 100 ms: a get of five entries took 5 ms then.
        """
        if entries <= FEW:
            request = Request("GET", JOBFLOWS.path(key.namespace, key.name), accept=METADATA_ALONE)
            return msgspec.json.decode(await self._client.read("get", JOBFLOWS, request), type=Named).metadata
        query = (("fieldSelector", f"metadata.name={key.name}"),)
        request = Request("GET", JOBFLOWS.path(key.namespace), query, accept=METADATA_OF_LIST)
        listed = msgspec.json.decode(await self._client.read("list", JOBFLOWS, request), type=_Listed)
        if not listed.items:
            raise NotFound(f'{JOBFLOWS.plural} "{key.name}" not found', status=404)
        return listed.items[0].metadata

    async def patch_jobflow_status(self, key: Key, patch: bytes) -> Stored:
        """Send a JSON patch to the status subresource. Raises Conflict where the patch's resourceVersion is old."""
        path = JOBFLOWS.path(key.namespace, key.name, "status")
        request = Request("PATCH", path, (), patch, JSON_PATCH)
        with self.own_writes.writing(key) as attempt:
            body = await self._client.write("patch", JOBFLOWS, request, self._guard)
            stored = Stored(JOBFLOWS.decode(body), len(body))
            attempt.version = stored.jobflow.metadata.resource_version
        log.debug("status stored", extra={"phase": stored.jobflow.phase, "bytes": len(patch)})
        return stored

    async def get_job(self, key: Key) -> Job:
        """Read a Job live. Raises NotFound."""
        return await self._client.get(JOBS, key)

    async def create_job(self, namespace: str, manifest: bytes, guard: Guard) -> Job:
        """Create a Job from its JSON. Raises AlreadyExists, and Refused for what will not be had as it is."""
        job = await self._client.create(JOBS, namespace, manifest, guard=self._and(guard))
        log.info("job created", extra={"job": str(job.key), "uid": job.uid})
        return job

    async def delete_job(self, key: Key, uid: str, version: str, guard: Guard) -> None:
        """Delete the Job in the background. Raises NotFound, and Conflict where uid or resourceVersion are others."""
        await self._client.delete(JOBS, key, uid=uid, version=version, guard=self._and(guard))
        log.info("job deleted", extra={"job": str(key), "uid": uid})

    async def patch_jobtemplate_status(self, key: Key, patch: bytes) -> JobTemplate:
        """Send a JSON patch to the status subresource. Raises Conflict where the patch's resourceVersion is old."""
        return await self._client.patch(
            JOBTEMPLATES, key, patch, content_type=JSON_PATCH, subresource="status", guard=self._guard
        )

    def _and(self, guard: Guard) -> Guard:
        def both() -> None:
            if self._guard:
                self._guard()
            guard()

        return both
