from __future__ import annotations

import json

import pytest

from ullage.core.errors import RequestError
from ullage.core.wire import Conversation, Dialect, parse_request
from ullage.core.wire.slicing import DEPTH_LIMIT


def raws(conversation: Conversation) -> dict[str, list[bytes]]:
    return {
        "system": [piece.raw for piece in conversation.system],
        "tools": [piece.raw for piece in conversation.tools],
        "messages": [piece.raw for piece in conversation.messages],
    }


def nested(depth: int) -> bytes:
    return b"[" * depth + b"]" * depth


@pytest.mark.parametrize(
    ("dialect", "body", "expected"),
    [
        (
            "openai-chat",
            b'{"model":"m","messages":[ {"a":1} , {"b":2}],"tools":[{"t":1}],"functions":[{"f":1}]}',
            {"system": [], "tools": [b'{"t":1}', b'{"f":1}'], "messages": [b'{"a":1}', b'{"b":2}']},
        ),
        (
            "openai-responses",
            b'{"instructions":"Be kind.","input":"hello"}',
            {"system": [b'"Be kind."'], "tools": [], "messages": [b'"hello"']},
        ),
        (
            "openai-responses",
            b'{"instructions":null,"input":[{"a":1}],"tools":[]}',
            {"system": [], "tools": [], "messages": [b'{"a":1}']},
        ),
        (
            "anthropic",
            b'{"system":[{"s":1},{"s":2}],"messages":[]}',
            {"system": [b'{"s":1}', b'{"s":2}'], "tools": [], "messages": []},
        ),
        (
            "gemini",
            (
                b'{"system_instruction":{"role":"user","parts":[{"text":"a"},{"text":"b"}]},'
                b'"contents":[{"parts":[]}],'
                b'"tools":[{"functionDeclarations":[{"name":"f"},{"name":"g"}]},{"googleSearch":{}}]}'
            ),
            {
                "system": [b'{"text":"a"}', b'{"text":"b"}'],
                "tools": [b'{"name":"f"}', b'{"name":"g"}', b'{"googleSearch":{}}'],
                "messages": [b'{"parts":[]}'],
            },
        ),
        (
            "gemini",
            b'{"tools":[{"functionDeclarations":[{"name":"f"}],"googleSearch":{}}]}',
            {
                "system": [],
                "tools": [b'{"functionDeclarations":[{"name":"f"}],"googleSearch":{}}'],
                "messages": [],
            },
        ),
        (
            "gemini",
            b'{"tools":[{"functionDeclarations":[{"name":"f"}],"function_declarations":[{"name":"g"}]}]}',
            {
                "system": [],
                "tools": [b'{"functionDeclarations":[{"name":"f"}],"function_declarations":[{"name":"g"}]}'],
                "messages": [],
            },
        ),
        (
            "gemini",
            b'{"generateContentRequest":{"contents":[{"parts":[{"text":"a"}]}],"model":"models/x"}}',
            {"system": [], "tools": [], "messages": [b'{"parts":[{"text":"a"}]}']},
        ),
    ],
)
def test_slices_of_each_kind_come_out_as_they_stand(
    dialect: Dialect, body: bytes, expected: dict[str, list[bytes]]
) -> None:
    assert raws(parse_request(body, dialect)) == expected


def test_a_system_string_is_one_slice_and_equal_bytes_of_another_kind_hash_differently() -> None:
    conversation = parse_request(b'{"system":"a","messages":["a"],"tools":["a"]}', "anthropic")
    pieces = [*conversation.system, *conversation.tools, *conversation.messages]
    assert [piece.raw for piece in pieces] == [b'"a"'] * 3
    assert len({piece.hash for piece in pieces}) == 3


def test_the_hash_of_a_slice_depends_on_dialect_and_bytes_alone() -> None:
    short = parse_request(b'{"messages":[{"a":1}]}', "anthropic")
    long = parse_request(b'{"model":"m", "messages":[{"z":0}, {"a":1}]}', "anthropic")
    other = parse_request(b'{"messages":[{"a":1}]}', "openai-chat")
    assert short.messages[0].hash == long.messages[1].hash
    assert short.messages[0].hash != other.messages[0].hash


@pytest.mark.parametrize(
    ("dialect", "body", "path_model", "path_stream", "expected"),
    [
        ("anthropic", b'{"model":"a","stream":true}', None, None, ("a", True)),
        ("openai-chat", b'{"model":"a","stream":false}', "b", None, ("a", False)),
        ("openai-chat", b"{}", "b", None, ("b", False)),
        ("openai-chat", b'{"model":7,"stream":"yes"}', None, None, (None, False)),
        ("gemini", b'{"model":"models/a"}', "b", True, ("b", True)),
        ("gemini", b'{"stream":true}', "b", False, ("b", False)),
        ("gemini", b'{"model":"models/a"}', None, None, ("models/a", False)),
    ],
)
def test_model_and_stream_come_from_the_body_or_the_path(
    dialect: Dialect,
    body: bytes,
    path_model: str | None,
    path_stream: bool | None,
    expected: tuple[str | None, bool],
) -> None:
    conversation = parse_request(body, dialect, path_model=path_model, path_stream=path_stream)
    assert (conversation.model, conversation.stream) == expected


def test_options_are_the_other_members_and_unknown_ones_survive() -> None:
    conversation = parse_request(
        b'{"model":"m","input":[],"previous_response_id":"r1","later" : {"x": [1 ,2]}}', "openai-responses"
    )
    assert conversation.options == {"previous_response_id": b'"r1"', "later": b'{"x": [1 ,2]}'}
    assert conversation.previous_response_id == "r1"


def test_of_a_repeated_member_the_last_one_counts() -> None:
    body = b'{"messages":[{"a":1},{"b":"]"}],"model":"first","messages":[{"c":3}],"model":"last"}'
    conversation = parse_request(body, "anthropic")
    assert [piece.raw for piece in conversation.messages] == [b'{"c":3}']
    assert conversation.model == "last"
    assert [member.key for member in conversation.members] == ["messages", "model", "messages", "model"]


@pytest.mark.parametrize(
    "text",
    [
        r'"\ud83e"',
        r'"\ude00\ud83d"',
        r'"\ud83d\ude00 \ud83d x"',
        '"\\u0000"',
        "1e999",
        "-1e-999",
        "9" * 400,
        "9" * 5_000,
        '{"a":1,"a":2}',
        '"\u2028\u0085 \U0001f98a"',
    ],
)
def test_odd_but_legal_content_is_sliced(text: str) -> None:
    body = f'{{"messages":[{{"role":"user","x":{text}}},{text}],"y":{text}}}'.encode()
    conversation = parse_request(body, "openai-chat")
    assert [piece.raw.decode() for piece in conversation.messages] == [f'{{"role":"user","x":{text}}}', text]
    assert conversation.options["y"] == text.encode()


def test_a_byte_order_mark_and_escaped_keys_are_understood() -> None:
    body = b'\xef\xbb\xbf {"mess\\u0061ges":[{"role":"user"}],"odd\\ud800":1}'
    conversation = parse_request(body, "anthropic")
    assert [piece.raw for piece in conversation.messages] == [b'{"role":"user"}']
    assert "odd\ufffd" in conversation.options


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b" ",
        b"null",
        b"[]",
        b'"text"',
        b"{",
        b'{"messages":[}',
        b'{"messages":[]} trailing',
        b'{"messages":[],}',
        b"{'messages':[]}",
        b'{"a":NaN}',
        b'{"a":"\x01"}',
        b'{"a":"\xff"}',
        b'{"a":"\xed\xa0\x80"}',
        b'{"messages":[]}\x00',
    ],
)
def test_what_is_not_one_json_object_in_utf8_is_refused(body: bytes) -> None:
    with pytest.raises(RequestError):
        parse_request(body, "openai-chat")


@pytest.mark.parametrize("kind", ["messages", "tools", "system", "metadata"])
def test_nesting_is_allowed_up_to_the_limit_and_refused_beyond(kind: str) -> None:
    around = 1 if kind == "metadata" else 2
    fits, too_deep = (
        f'{{"{kind}":{"[" * (around - 1)}{nested(depth).decode()}{"]" * (around - 1)}}}'.encode()
        for depth in (DEPTH_LIMIT - around, DEPTH_LIMIT - around + 1)
    )
    parse_request(fits, "anthropic")
    with pytest.raises(RequestError) as refused:
        parse_request(too_deep, "anthropic")
    assert refused.value.code == "too_deep"


@pytest.mark.parametrize("depth", [700, 5_000, 200_000])
def test_nesting_without_end_is_refused_and_does_not_crash(depth: int) -> None:
    with pytest.raises(RequestError):
        parse_request(b'{"messages":' + nested(depth) + b"}", "openai-chat")


@pytest.mark.parametrize(
    "body",
    [
        b'{"messages":[' + b"1," * 120_000 + b"1]}",
        b"{" + b",".join(b'"%d":1' % number for number in range(12_000)) + b"}",
        b"{" + b",".join([b'"messages":[]'] * 12_000) + b"}",
        b'{"messages":[{"content":[' + b"1," * 2_100_000 + b"1]}]}",
        b'{"messages":[' + b"1," * 5_000_000 + b"1]}",
    ],
    ids=["messages", "members", "repeated members", "values", "messages and values"],
)
def test_tiny_values_without_end_are_refused_before_they_fill_memory(body: bytes) -> None:
    with pytest.raises(RequestError) as refused:
        parse_request(body, "openai-chat")
    assert refused.value.code == "too_many"


def test_commas_in_a_long_text_are_no_values() -> None:
    body = b'{"messages":[{"content":"' + b"a,b,c,d\\n" * 600_000 + b'"}]}'
    assert len(parse_request(body, "openai-chat").messages) == 1


def test_many_brackets_in_a_text_are_no_nesting() -> None:
    text = json.dumps("[{" * 5_000)
    conversation = parse_request(f'{{"messages":[{{"content":{text}}}],"note":{text}}}'.encode(), "openai-chat")
    assert len(conversation.messages) == 1


def test_a_wide_request_is_no_deep_one() -> None:
    body = json.dumps({"messages": [{"content": [[]] * 500}] * 20}).encode()
    assert len(parse_request(body, "openai-chat").messages) == 20


@pytest.mark.parametrize("value", ["5", "true", '{"role":"user"}', '"text"'])
def test_a_message_list_that_is_none_is_one_message(value: str) -> None:
    conversation = parse_request(f'{{"messages":{value}}}'.encode(), "anthropic")
    assert [piece.raw.decode() for piece in conversation.messages] == [value]
