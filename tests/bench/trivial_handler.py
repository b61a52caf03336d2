"""The limit that the webhook is measured beside: aiohttp over TLS, with a handler that reads the body and allows.

python -m tests.bench.trivial_handler CERTIFICATE KEY      # prints its port

GET /timings tells how many seconds each request took that it has answered.
"""

import asyncio
import ssl
import sys
from time import monotonic

import uvloop
from aiohttp import web

ANSWER = b'{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":"%s","allowed":true}}'


timings: list[float] = []


async def allow(request: web.Request) -> web.Response:
    """Read, and allow."""
    began = monotonic()
    body = await request.read()
    start = body.index(b'"uid":"') + 7
    response = web.Response(body=ANSWER % body[start : start + 36], content_type="application/json")
    timings.append(monotonic() - began)
    return response


async def tell(_: web.Request) -> web.Response:
    """Say how long it took."""
    return web.json_response(timings)


async def serve(certificate: str, key: str) -> None:
    """Serve until killed."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    app = web.Application(client_max_size=8 * 1024 * 1024)
    app.router.add_post("/validate/{resource}", allow)
    app.router.add_get("/timings", tell)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    uvloop.run(serve(*sys.argv[1:3]))
