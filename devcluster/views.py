"""How objects are shown: as they are, as a Table that kubectl prints, or as their metadata alone.

A caller asks by the Accept header, `application/json;as=Table;v=v1;g=meta.k8s.io`. Plain objects go out as the bytes
that are stored.
"""

import re
from collections.abc import Callable, Iterable
from datetime import datetime

import msgspec

from devcluster.errors import not_acceptable
from devcluster.resources import JSON, Column, Resource
from devcluster.store import Stored
from devcluster.table import table

AGE_ONLY = (Column("Age", "date", ".metadata.creationTimestamp"),)
META_GROUP = "meta.k8s.io"
JSON_TYPES = {"application/json", "application/*", "*/*", ""}

encode = msgspec.json.encode


class View:
    """Plain objects. The other views change single parts of this one."""

    list_kind = ""

    def __init__(self, resource: Resource) -> None:
        self.resource = resource
        self.direct = resource.from_stored is None

    def shown(self, stored: Stored) -> JSON:
        """Return the object in the version of this resource, as a dict of the caller's own."""
        obj = stored.decode()
        return self.resource.from_stored(obj) if self.resource.from_stored else obj

    def one(self, stored: Stored) -> bytes:
        """Return one object."""
        return stored.raw if self.direct else encode(self.shown(stored))

    def many(self, items: Iterable[Stored], meta: JSON) -> bytes:
        """Return a list."""
        head = encode({"kind": self.resource.list_name, "apiVersion": self.resource.api_version, "metadata": meta})
        return head[:-1] + b',"items":[' + b",".join(self.one(stored) for stored in items) + b"]}"

    def event(self, kind: str, stored: Stored) -> bytes:
        """Return one line of a watch."""
        return b'{"type":"' + kind.encode() + b'","object":' + self.one(stored) + b"}\n"

    def bookmark(self, version: int, *, ends_initial: bool = False) -> bytes:
        """Return the line of a watch that says how far it has come."""
        meta: JSON = {"resourceVersion": str(version), "creationTimestamp": None}
        if ends_initial:
            meta["annotations"] = {"k8s.io/initial-events-end": "true"}
        return encode({"type": "BOOKMARK", "object": self._bookmark(meta)}) + b"\n"

    def _bookmark(self, meta: JSON) -> JSON:
        return {"kind": self.resource.kind, "apiVersion": self.resource.api_version, "metadata": meta}


class MetadataView(View):
    """PartialObjectMetadata: who needs no more, as garbage collectors, saves the rest."""

    def one(self, stored: Stored) -> bytes:
        """Return the metadata of one object."""
        kind = {"kind": "PartialObjectMetadata", "apiVersion": f"{META_GROUP}/v1"}
        return encode(kind | {"metadata": self.shown(stored)["metadata"]})

    def many(self, items: Iterable[Stored], meta: JSON) -> bytes:
        """Return the metadata of a list."""
        head = encode({"kind": "PartialObjectMetadataList", "apiVersion": f"{META_GROUP}/v1", "metadata": meta})
        return head[:-1] + b',"items":[' + b",".join(self.one(stored) for stored in items) + b"]}"

    def _bookmark(self, meta: JSON) -> JSON:
        return {"kind": "PartialObjectMetadata", "apiVersion": f"{META_GROUP}/v1", "metadata": meta}


class TableView(View):
    """What kubectl prints. In a watch, only the first Table names its columns."""

    def __init__(self, resource: Resource, now: Callable[[], datetime], include: str) -> None:
        super().__init__(resource)
        self.now = now
        self.include = include
        self._named = False

    def one(self, stored: Stored) -> bytes:
        """Return a Table of one row."""
        return self.many([stored], {"resourceVersion": str(stored.version)})

    def many(self, items: Iterable[Stored], meta: JSON) -> bytes:
        """Return a Table."""
        return encode(self._table(items, meta))

    def event(self, kind: str, stored: Stored) -> bytes:
        """Return one line of a watch."""
        rows = self._table([stored], {"resourceVersion": str(stored.version)})
        if self._named:
            rows["columnDefinitions"] = None
        self._named = True
        return encode({"type": kind, "object": rows}) + b"\n"

    def _table(self, items: Iterable[Stored], meta: JSON) -> JSON:
        columns = self.resource.columns or AGE_ONLY
        shown = (self.shown(stored) for stored in items)
        return table(columns, shown, list_meta=meta, now=self.now(), include=self.include)

    def _bookmark(self, meta: JSON) -> JSON:
        empty: JSON = {"kind": "Table", "apiVersion": f"{META_GROUP}/v1", "metadata": {}, "columnDefinitions": None}
        row = {
            "cells": [],
            "object": {"kind": "PartialObjectMetadata", "apiVersion": f"{META_GROUP}/v1", "metadata": meta},
        }
        return empty | {"metadata": {"resourceVersion": meta["resourceVersion"]}, "rows": [row]}


def negotiate(accept: str, resource: Resource, now: Callable[[], datetime], include: str = "") -> View:
    """Return the view that the caller takes best. Raises StatusError 406."""
    for wanted in accept.split(",") if accept else ("",):
        media, *parameters = (part.strip() for part in wanted.split(";"))
        given = dict(re.findall(r"(\w+)=([^;]+)", ";".join(parameters)))
        if media not in JSON_TYPES or given.get("g", META_GROUP) != META_GROUP:
            continue
        match given.get("as", ""), given.get("v", "v1"):
            case "", _:
                return View(resource)
            case "Table", "v1":
                return TableView(resource, now, include or "Metadata")
            case "PartialObjectMetadata" | "PartialObjectMetadataList", "v1":
                return MetadataView(resource)
    raise not_acceptable("only the following media types are accepted: application/json, application/json;stream=watch")
