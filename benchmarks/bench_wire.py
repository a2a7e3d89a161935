"""How long the wire room takes for a 2 MB request of 1,500 messages, beside what decoding everything costs; and per stream event.

    python benchmarks/bench_wire.py

Prints the best of several runs in milliseconds (CPU time of this process). The work is checked, the time is only reported.
"""

from __future__ import annotations

import json
import random
import time
from typing import TYPE_CHECKING

import msgspec

from ullage.core.wire import AnswerReader, canonical_hash, parse_request, read_message, render

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MESSAGES = 1_500
CHARS = 1_200
RUNS = 15


def main() -> None:
    body = make_body()
    print(f"request: {len(body) / 1e6:.2f} MB, {MESSAGES} messages\n")
    for name, run in request_runs(body):
        print(f"{name:<58}{best_ms(run):>9.3f} ms")
    stream, events = make_stream()
    took = best_ms(lambda: read_stream(stream))
    print(f"\n{f'read a stream of {events} events, {len(stream) // 1_000} kB':<58}{took:>9.3f} ms")
    print(f"{'per event':<58}{took / events * 1_000:>9.2f} µs")


def request_runs(body: bytes) -> Iterator[tuple[str, Callable[[], object]]]:
    conversation = parse_request(body, "anthropic")
    following = with_message(body)
    assert len(conversation.messages) == MESSAGES
    assert parse_request(following, "anthropic", previous=conversation) == parse_request(following, "anthropic")
    assert len(json.loads(render(conversation, messages=range(700, MESSAGES)))["messages"]) == MESSAGES - 700
    yield "parse: slices and hashes, whole", lambda: parse_request(body, "anthropic")
    yield (
        "parse: one message more than the request before",
        lambda: parse_request(following, "anthropic", previous=conversation),
    )
    yield "render: everything", lambda: render(conversation)
    yield "render: another model", lambda: render(conversation, model="another")
    yield "render: 700 messages left out", lambda: render(conversation, messages=range(700, MESSAGES))
    yield "read every message", lambda: [read_message(piece, "anthropic") for piece in conversation.messages]
    yield (
        "canonical hash of every message",
        lambda: [canonical_hash(piece, "anthropic") for piece in conversation.messages],
    )
    yield "floor: msgspec decodes everything", lambda: msgspec.json.decode(body)
    yield "floor: msgspec decodes and encodes everything", lambda: msgspec.json.encode(msgspec.json.decode(body))
    yield "floor: json of the standard library decodes everything", lambda: json.loads(body)


def make_body() -> bytes:
    """An agent's long session: prose, code with brackets and quotes, some text outside ASCII."""
    source = random.Random(7)
    words = [
        "return",
        "cache",
        "{value}",
        "[0]",
        '"key":',
        "if (x) {",
        "}",
        "naïve",
        "über",
        "\n    ",
        "plan",
        "window",
    ]
    messages = []
    for number in range(MESSAGES):
        text = " ".join(source.choices(words, k=CHARS // 6))
        if number % 3 == 1:
            call = {"type": "tool_use", "id": f"t{number}", "name": "read", "input": {"path": text[:60]}}
            messages.append({"role": "assistant", "content": [{"type": "text", "text": text}, call]})
        elif number % 3 == 2:
            result = {"type": "tool_result", "tool_use_id": f"t{number - 1}", "content": text}
            messages.append({"role": "user", "content": [result]})
        else:
            messages.append({"role": "user", "content": text})
    tools = [
        {"name": f"tool{number}", "description": "does " * 60, "input_schema": {"type": "object", "properties": {}}}
        for number in range(20)
    ]
    request = {"model": "model", "system": "Rules. " * 500, "tools": tools, "messages": messages, "stream": True}
    return json.dumps(request, ensure_ascii=False, separators=(",", ":")).encode()


def with_message(body: bytes) -> bytes:
    request = json.loads(body)
    request["messages"].append({"role": "user", "content": "And now? " * 300})
    return json.dumps(request, ensure_ascii=False, separators=(",", ":")).encode()


def make_stream() -> tuple[list[bytes], int]:
    """A streamed answer of 2,000 deltas, one event a chunk."""
    delta = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "some words "}}
    event = f"event: content_block_delta\ndata: {json.dumps(delta)}\n\n".encode()
    return [event] * 2_000, 2_000


def read_stream(chunks: list[bytes]) -> None:
    reader = AnswerReader("anthropic", streamed=True)
    for chunk in chunks:
        reader.feed(chunk)
    assert reader.close().text_chars == 11 * len(chunks)


def best_ms(run: Callable[[], object]) -> float:
    best = float("inf")
    for _ in range(RUNS):
        started = time.process_time()
        run()
        best = min(best, time.process_time() - started)
    return best * 1_000


if __name__ == "__main__":
    main()
