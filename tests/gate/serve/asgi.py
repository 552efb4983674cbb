"""Asks an ASGI application, without a server."""

import asyncio
import json


def ask(app, path, given=None, kind="application/json", body=None):
    """The status, and the body as JSON or text, of a GET, or of a POST of `given` as JSON or of the bytes `body`.

    It returns when what is done after the answer is done, too.
    """
    post = given is not None or body is not None
    body = json.dumps(given).encode() if body is None and post else body or b""
    parts = [{"type": "http.request", "body": body[i:i + 100], "more_body": i + 100 < len(body)}
             for i in range(0, max(1, len(body)), 100)]
    sent = []

    async def receive():
        return parts.pop(0) if parts else {"type": "http.disconnect"}

    async def send(message):
        sent.append(message)

    scope = {"type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "POST" if post else "GET",
             "path": path, "raw_path": path.encode(), "query_string": b"", "scheme": "http",
             "headers": [(b"content-type", kind.encode())], "server": ("test", 80), "client": ("test", 1)}
    asyncio.run(app(scope, receive, send))
    text = b"".join(message.get("body", b"") for message in sent if message["type"] == "http.response.body").decode()
    return sent[0]["status"], json.loads(text) if text[:1] == "{" else text
