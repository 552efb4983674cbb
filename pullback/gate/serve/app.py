"""The guard over HTTP, as an ASGI application.

    POST /predict        {"inputs": {...}} -> {"version": 3, "outputs": [...]}
    GET  /model          what a request has to have
    GET  /health/live    the process runs
    GET  /health/ready   a version is loaded and compiled, and there is room for a request
    GET  /metrics        for Prometheus
"""

from __future__ import annotations

import threading
from typing import Any

from pullback.gate.serve.guard import Guard
from pullback.gate.serve.requests import RefusedRequest
from pullback.gate.store.arrays import library

__all__ = ["application"]


def application(guard: Guard) -> Any:
    """The application of a guard.

    Raises:
      UsageError: starlette is not installed.
    """
    starlette, responses = library("starlette.applications"), library("starlette.responses")
    json, route = responses.JSONResponse, library("starlette.routing").Route
    background, concurrency = library("starlette.background"), library("starlette.concurrency")
    room = threading.Semaphore(guard.limits.waiting)

    def refused(error: RefusedRequest, **headers: str) -> Any:
        return json(error.data(), error.status, headers)

    async def body(request: Any) -> bytes:
        """The body, read no further than is allowed."""
        kind = request.headers.get("content-type", "").partition(";")[0].strip()
        if kind != "application/json":
            raise RefusedRequest(415, "content type", "the body must be application/json")
        found, allowed = bytearray(), guard.limits.bytes
        async for part in request.stream():
            found += part
            if len(found) > allowed:
                raise RefusedRequest(413, "too large", f"the body has more than {allowed} bytes")
        return bytes(found)

    async def predict(request: Any) -> Any:
        if not room.acquire(blocking=False):
            return refused(guard.refuse(RefusedRequest(503, "busy", "too many requests at one time; come again")),
                           **{"Retry-After": "1"})
        try:
            try:
                given = await body(request)
            except RefusedRequest as error:
                return refused(guard.refuse(error))
            try:
                answer, after = await concurrency.run_in_threadpool(guard.answer, given)
            except RefusedRequest as error:
                return refused(error)
            return json(answer, background=background.BackgroundTask(after) if after else None)
        finally:
            room.release()

    def model(request: Any) -> Any:
        one = guard.current
        assert one is not None
        return json({"version": one.number, "inputs": one.described(), "objects": one.sizes()[-1],
                             "candidate": guard.candidate.number if guard.candidate else None})

    def live(request: Any) -> Any:
        return json({"alive": True})

    def ready(request: Any) -> Any:
        there = guard.current is not None
        return json({"ready": there, "version": guard.current.number if guard.current else None},
                            200 if there else 503)

    def metrics(request: Any) -> Any:
        text, kind = guard.metrics.text()
        return responses.Response(text, media_type=kind)

    def failed(request: Any, error: Exception) -> Any:
        return json({"error": {"kind": "internal", "message": "the server broke", "where": ""}}, 500)

    return starlette.Starlette(routes=[route("/predict", predict, methods=["POST"]), route("/model", model),
                             route("/health/live", live), route("/health/ready", ready), route("/metrics", metrics)],
                     exception_handlers={Exception: failed})
