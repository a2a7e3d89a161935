"""The floor: the thinnest pass-through that these libraries allow. No routing, no error handling, nothing noted.

Run: `python -m benchmarks.parts.thin PORT UPSTREAM_URL`.
"""

from __future__ import annotations

import sys
from typing import Any

import aiohttp
import uvicorn
from yarl import URL

UPSTREAM = sys.argv[2] if len(sys.argv) > 2 else ""
HOP = {b"host", b"content-length", b"connection", b"transfer-encoding"}
session: aiohttp.ClientSession | None = None


async def app(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """Body in, body out."""
    global session  # noqa: PLW0603 - the thinnest way to make it inside the loop
    if session is None:
        session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0), auto_decompress=False, timeout=aiohttp.ClientTimeout(total=None)
        )
    parts = []
    while True:
        message = await receive()
        parts.append(message.get("body", b""))
        if not message.get("more_body"):
            break
    headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"] if name not in HOP]
    url = URL(UPSTREAM + scope["raw_path"].decode(), encoded=True)
    async with session.request(scope["method"], url, headers=headers, data=b"".join(parts)) as response:
        answered = [
            pair for pair in response.raw_headers if pair[0].lower() not in (b"connection", b"transfer-encoding")
        ]
        await send({"type": "http.response.start", "status": response.status, "headers": answered})
        async for chunk in response.content.iter_any():
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
    await send({"type": "http.response.body", "body": b"", "more_body": False})


if __name__ == "__main__":
    uvicorn.run(
        app,
        port=int(sys.argv[1]),
        log_level="error",
        access_log=False,
        lifespan="off",
        backlog=2048,
        server_header=False,
        date_header=False,
    )
