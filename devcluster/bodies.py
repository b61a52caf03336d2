"""Bodies of requests, read by their Content-Type, and answers written."""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
import yaml
from aiohttp import web
from multidict import CIMultiDict

from devcluster import protobuf
from devcluster.errors import bad_request, unsupported_media_type
from devcluster.patches import APPLY_PATCH, JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH

LARGEST_BODY = 3 << 20  # as a real API server has it
PATCH_TYPES = (APPLY_PATCH, JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH)
OBJECT_TYPES = ("application/json", "application/yaml", protobuf.MEDIA)
YAML_TYPES = ("application/yaml", APPLY_PATCH)
LONGEST_WARNING = 256


async def read_body(request: web.BaseRequest, accepted: Iterable[str] = OBJECT_TYPES) -> Any:
    """Return what the body says; None when there is none. Raises StatusError."""
    raw = await request.read()
    if not raw:
        return None
    media = request.content_type if "Content-Type" in request.headers else "application/json"
    if media not in accepted:
        known = ", ".join(accepted)
        raise unsupported_media_type(
            f"the body of the request was in an unknown format - accepted media types include: {known}"
        )
    if media == protobuf.MEDIA:
        try:
            return protobuf.decode(raw)
        except ValueError as error:
            raise unsupported_media_type(str(error)) from None
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        if media not in YAML_TYPES:
            raise bad_request(f"error decoding body: {error}") from None
    try:
        return yaml.load(raw, Loader=_Loader)  # noqa: S506 - a safe loader
    except (yaml.YAMLError, RecursionError, UnicodeDecodeError) as error:
        raise bad_request(f"error decoding body: {error}") from None


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """YAML as Kubernetes reads it: a time is text."""

    yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }


def answer(
    body: bytes,
    code: int = 200,
    *,
    warnings: Iterable[str] = (),
    headers: Mapping[str, str] | None = None,
    media: str = "",
) -> web.Response:
    """Return an answer in JSON, with its warnings as headers."""
    sent = CIMultiDict(headers or {})
    sent["Content-Type"] = media or "application/json"
    sent["Cache-Control"] = "no-cache, private"
    for warning in dict.fromkeys(warnings):
        sent.add("Warning", f'299 - "{_quoted(warning)}"')
    return web.Response(body=body, status=code, headers=sent)


def _quoted(text: str) -> str:
    plain = "".join(char if char.isprintable() else " " for char in text)
    return plain.replace("\\", "\\\\").replace('"', '\\"')
