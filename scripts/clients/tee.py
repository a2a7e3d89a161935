"""A TCP relay that remembers every byte, and the HTTP exchanges that the bytes were.

Two of them, one on each side of the gateway, show whether it changed anything. Enough of
HTTP/1.1 is read for that: lengths, chunks, bodies that end with the connection.
"""

from __future__ import annotations

import socket
import threading
from dataclasses import dataclass, field
from typing import Self
from urllib.parse import urlsplit

HOP_BY_HOP = frozenset(
    {"host", "connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade"}
)
"""Headers that belong to one connection (RFC 9110, section 7.6.1), and the address itself."""

BODILESS = (204, 304)

Headers = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Message:
    """A request or an answer: `start` is its first line without the version, `headers` are those that go end to end."""

    start: str
    headers: Headers
    body: bytes


@dataclass(frozen=True)
class Exchange:
    request: Message
    answer: Message | None


@dataclass
class Connection:
    sent: bytearray = field(default_factory=bytearray)
    received: bytearray = field(default_factory=bytearray)


class Tee:
    """Listens on a free port and relays to `upstream`, the root of an HTTP server. A context manager."""

    def __init__(self, upstream: str) -> None:
        address = urlsplit(upstream)
        self._upstream = (address.hostname or "127.0.0.1", address.port or 80)
        self._connections: list[Connection] = []
        self._listener = socket.create_server(("127.0.0.1", 0))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()

    def exchanges(self) -> list[Exchange]:
        """All that went over so far, by connection."""
        return [exchange for connection in self._connections for exchange in read_exchanges(connection)]

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(self._upstream)
            except OSError:
                client.close()
                continue
            connection = Connection()
            self._connections.append(connection)
            for source, sink, kept in ((client, server, connection.sent), (server, client, connection.received)):
                threading.Thread(target=pump, args=(source, sink, kept), daemon=True).start()


def pump(source: socket.socket, sink: socket.socket, kept: bytearray) -> None:
    """Relays one direction until its end, and passes the end on."""
    try:
        while data := source.recv(65536):
            kept += data
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        sink.close()


def read_exchanges(connection: Connection) -> list[Exchange]:
    """The requests of a connection with their answers; a request that got none has `None`."""
    requests = read_messages(bytes(connection.sent), methods=None)
    methods = [request.start.partition(" ")[0] for request in requests]
    answers = read_messages(bytes(connection.received), methods=methods)
    return [Exchange(request, answers[n] if n < len(answers) else None) for n, request in enumerate(requests)]


def read_messages(data: bytes, methods: list[str] | None) -> list[Message]:
    """The messages that stand one after another in `data`: requests, or the answers to requests of these methods."""
    messages: list[Message] = []
    while b"\r\n\r\n" in data:
        head, _, data = data.partition(b"\r\n\r\n")
        start, pairs = read_head(head)
        if start.startswith("1"):
            continue
        if methods is None:
            body, data = read_body(pairs, data, bodiless="content-length" not in pairs)
        else:
            bodiless = methods[len(messages) : len(messages) + 1] == ["HEAD"] or int(start[:3]) in BODILESS
            body, data = read_body(pairs, data, bodiless=bodiless)
        messages.append(Message(start, end_to_end(pairs), body))
    return messages


def read_head(head: bytes) -> tuple[str, dict[str, str]]:
    """First line without the version; headers by name in lower case. A repeated header is joined, as RFC 9110 allows."""
    first, *lines = head.decode("latin-1").split("\r\n")
    start = first.partition(" ")[2] if first.startswith("HTTP/") else first.rpartition(" ")[0]
    headers: dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition(":")
        name, value = name.lower(), value.strip()
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return start, headers


def end_to_end(headers: dict[str, str]) -> Headers:
    """Sorted, and without those that belong to one connection."""
    return tuple(sorted((name, value) for name, value in headers.items() if name not in HOP_BY_HOP))


def read_body(headers: dict[str, str], data: bytes, *, bodiless: bool) -> tuple[bytes, bytes]:
    """The body at the start of `data`, and what follows it."""
    if "chunked" in headers.get("transfer-encoding", ""):
        return read_chunks(data)
    if bodiless:
        return b"", data
    length = int(headers.get("content-length", len(data)))
    return data[:length], data[length:]


def read_chunks(data: bytes) -> tuple[bytes, bytes]:
    body = b""
    while True:
        size, _, data = data.partition(b"\r\n")
        length = int(size.partition(b";")[0] or b"0", 16)
        if length == 0:
            return body, data.partition(b"\r\n")[2]
        body, data = body + data[:length], data[length + 2 :]
