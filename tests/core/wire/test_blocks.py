"""Messages without some of their blocks."""

from __future__ import annotations

import pytest

from ullage.core.errors import CallError
from ullage.core.wire import Dialect, parse_request
from ullage.core.wire.blocks import count_blocks, without_blocks

BLOCKS = b'{ "role":"user", "content": [ {"a":1} , {"b": "\\u00e9"},{"c":[ 3 ]} ] ,"x": 0}'


@pytest.mark.parametrize(
    ("numbers", "left"),
    [
        ((), b'[ {"a":1} , {"b": "\\u00e9"},{"c":[ 3 ]} ]'),
        ((0,), b'[ {"b": "\\u00e9"},{"c":[ 3 ]} ]'),
        ((1,), b'[ {"a":1},{"c":[ 3 ]} ]'),
        ((2,), b'[ {"a":1} , {"b": "\\u00e9"} ]'),
        ((0, 2), b'[ {"b": "\\u00e9"} ]'),
    ],
)
def test_what_stays_keeps_its_bytes(numbers: tuple[int, ...], left: bytes) -> None:
    (piece,) = parse_request(b'{"messages":[' + BLOCKS + b"]}", "anthropic").messages
    assert count_blocks(piece, "anthropic") == 3
    assert without_blocks(piece, "anthropic", numbers) == b'{ "role":"user", "content": ' + left + b' ,"x": 0}'
    with pytest.raises(CallError):
        without_blocks(piece, "anthropic", (0, 1, 2))


@pytest.mark.parametrize(
    ("dialect", "body", "count"),
    [
        ("anthropic", b'{"messages":[{"role":"user","content":"Go."}]}', 0),
        ("anthropic", b'{"messages":[{"role":"user"}]}', 0),
        ("openai-chat", b'{"messages":[{"role":"user","content":[1,2]}]}', 2),
        ("openai-responses", b'{"input":"Go."}', 0),
        ("openai-responses", b'{"input":[{"role":"user","content":[{}]}]}', 1),
        ("gemini", b'{"contents":[{"parts":[{},{}]}]}', 2),
    ],
)
def test_blocks_are_counted(dialect: Dialect, body: bytes, count: int) -> None:
    assert count_blocks(parse_request(body, dialect).messages[0], dialect) == count
