"""Strategies shared by the property tests: JSON as odd as it may legally be written, and requests of all dialects made of it."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from ullage.core.wire import DIALECTS

spaces = st.text(" \t\r\n", max_size=2)
dialects = st.sampled_from(DIALECTS)

_characters = st.one_of(
    st.characters(blacklist_categories=("Cs",), blacklist_characters='"\\', min_codepoint=0x20),
    st.sampled_from(
        [
            r"\n",
            r"\"",
            r"\\",
            r"\/",
            r"\u0000",
            r"\u00e9",
            r"\ud83e\udd8a",
            r"\ud83e",
            r"\uDD8A",
            r"\\ud83e",
            r"\\\ud83e",
        ]
    ),
)
strings = st.lists(_characters, max_size=12).map(lambda pieces: '"' + "".join(pieces) + '"')
numbers = st.one_of(
    st.integers().map(str),
    st.sampled_from(["0", "-0", "1.5", "-1E+2", "1e999", "-1e-999", "9" * 400, "9" * 5000, "0." + "3" * 60]),
)
scalars = st.one_of(st.sampled_from(["null", "true", "false"]), numbers, strings)


def arrays(element: st.SearchStrategy[str], *, min_size: int = 0, max_size: int = 4) -> st.SearchStrategy[str]:
    """JSON texts of arrays, with white space anywhere."""
    items = st.lists(st.tuples(spaces, element, spaces).map("".join), min_size=min_size, max_size=max_size)
    return st.tuples(items, spaces).map(lambda pair: "[" + (",".join(pair[0]) or pair[1]) + "]")


def objects(
    keys: st.SearchStrategy[str], value: st.SearchStrategy[str], *, max_size: int = 4
) -> st.SearchStrategy[str]:
    """JSON texts of objects, with white space and repeated keys."""
    member = st.tuples(spaces, keys, spaces, st.just(":"), spaces, value, spaces).map("".join)
    return st.tuples(st.lists(member, max_size=max_size), spaces).map(
        lambda pair: "{" + (",".join(pair[0]) or pair[1]) + "}"
    )


# Keys and words that the readers know, so that odd values turn up where they look.
_words = st.sampled_from(
    [
        "action",
        "annotations",
        "args",
        "arguments",
        "audio",
        "cache_control",
        "call_id",
        "citations",
        "code",
        "content",
        "custom",
        "data",
        "delta",
        "detail",
        "document",
        "encrypted_content",
        "error",
        "executableCode",
        "fileData",
        "file_data",
        "finishReason",
        "function",
        "functionCall",
        "functionDeclarations",
        "functionResponse",
        "function_call",
        "id",
        "image",
        "image_url",
        "index",
        "inlineData",
        "input",
        "input_audio",
        "input_image",
        "input_schema",
        "input_text",
        "instructions",
        "message",
        "metadata",
        "mimeType",
        "model",
        "name",
        "output",
        "output_text",
        "parameters",
        "parts",
        "reasoning",
        "reasoning_content",
        "refusal",
        "response",
        "role",
        "signature",
        "source",
        "status",
        "stop_reason",
        "strict",
        "summary",
        "system",
        "text",
        "thinking",
        "thought",
        "thoughtSignature",
        "tool_call_id",
        "tool_calls",
        "tool_result",
        "tool_use",
        "tool_use_id",
        "tools",
        "type",
        "url",
        "usage",
        "user",
        "assistant",
        "developer",
    ]
).map(lambda word: f'"{word}"')
keys = st.one_of(_words, strings)
values = st.recursive(
    st.one_of(scalars, _words),
    lambda inner: st.one_of(arrays(inner, max_size=3), objects(keys, inner, max_size=4)),
    max_leaves=12,
)

_MESSAGE_KEYS = {
    "openai-chat": '"messages"',
    "openai-responses": '"input"',
    "anthropic": '"messages"',
    "gemini": '"contents"',
}
_OTHER_KEYS = {
    "openai-chat": ['"tools"', '"functions"'],
    "openai-responses": ['"tools"', '"instructions"'],
    "anthropic": ['"tools"', '"system"'],
    "gemini": ['"tools"', '"systemInstruction"', '"system_instruction"', '"generateContentRequest"'],
}


@st.composite
def requests(draw: st.DrawFn, dialect: str, *, having: str | None = None) -> bytes:
    """Bodies of a dialect: valid JSON objects with lists where the slices lie, and anything else beside them.

    `having` is `messages` for a body with at least one message in a list, `model` for one that names a model.
    """
    lists = st.one_of(arrays(values, max_size=6), values)
    declarations = objects(st.just('"functionDeclarations"'), arrays(values), max_size=1)
    members = [
        (st.just(_MESSAGE_KEYS[dialect]), lists),
        *((st.just(key), st.one_of(lists, arrays(declarations))) for key in _OTHER_KEYS[dialect]),
        (st.just('"model"'), st.one_of(strings, values)),
        (keys, values),
    ]
    chosen = draw(st.lists(st.sampled_from(members), max_size=7))
    if having == "messages":
        one_list = (members[0][0], arrays(values, min_size=1, max_size=6))
        chosen = [member for member in chosen if member is not members[0]]
        chosen.insert(draw(st.integers(0, len(chosen))), one_list)
    elif having == "model":
        chosen.append(members[-2])
    texts = []
    for key, value in chosen:
        before, after, around = draw(spaces), draw(spaces), draw(spaces)
        texts.append(f"{before}{draw(key)}{after}:{around}{draw(value)}{draw(spaces)}")
    body = draw(spaces) + "{" + (",".join(texts) or draw(spaces)) + "}" + draw(spaces)
    mark = draw(st.sampled_from([b"", b"", b"", b"\xef\xbb\xbf"]))
    return mark + body.encode()


@st.composite
def cut(draw: st.DrawFn, data: bytes) -> list[bytes]:
    """The data in chunks, cut anywhere; empty chunks too."""
    places = sorted(draw(st.lists(st.integers(0, len(data)), max_size=12)))
    return [data[start:end] for start, end in zip([0, *places], [*places, len(data)], strict=True)]


plain_values: st.SearchStrategy[Any] = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(2**70), 2**70),
        st.floats(allow_nan=False, allow_infinity=False),
        st.text(max_size=8),
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=6), inner, max_size=3)),
    max_leaves=8,
)
