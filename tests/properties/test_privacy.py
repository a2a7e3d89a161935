"""Privacy never leaks, wherever in a request the text stands and however it is written (planner specification, section 23)."""

from __future__ import annotations

import json
import re

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from tests.strategies import dialects, requests
from ullage.core.errors import PrivacyError, RequestError
from ullage.core.privacy import Destination, PrivacySettings
from ullage.core.privacy.guard import PrivacyGuard
from ullage.core.wire import Conversation, Dialect, parse_request

relaxed = settings(
    deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
REMOTE = Destination(kind="remote", provider="openai", allowed=("normal", "internal"))
LOCAL = Destination(
    kind="local", provider="ollama", allowed=("normal", "internal", "sensitive", "local-only"), redact=False
)
CANARY = "Zq7CANARYx"

# Messages of every kind of part, with @ where a text of the user's or the model's may stand, names of their own included.
MESSAGES: dict[Dialect, list[str]] = {
    "anthropic": [
        """{"role": "user", "content": [{"type": "text", "text": "@", "cache_control": {"type": "ephemeral"}},
            {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "@"}], "is_error": true},
            {"type": "tool_result", "tool_use_id": "t2", "content": "@"},
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "@"}},
            {"type": "document", "title": "@", "context": "@", "source": {"type": "text", "data": "@"}},
            {"type": "search_result", "source": "@", "title": "@", "content": [{"type": "text", "text": "@"}]}]}""",
        """{"role": "assistant", "content": [{"type": "thinking", "thinking": "@", "signature": "@"},
            {"type": "redacted_thinking", "data": "@"},
            {"type": "text", "text": "@", "citations": [{"type": "char_location", "cited_text": "@"}]},
            {"type": "tool_use", "id": "t1", "name": "f", "input": {"a": "@", "@": 1, "deep": [{"b": ["@"]}]}}]}""",
    ],
    "openai-chat": [
        """{"role": "user", "content": [{"type": "text", "text": "@"},
            {"type": "image_url", "image_url": {"url": "@", "detail": "low"}},
            {"type": "file", "file": {"filename": "@", "file_data": "@"}}]}""",
        """{"role": "assistant", "content": "@", "refusal": "@", "reasoning_content": "@", "tool_calls": [{"id": "c1",
            "type": "function", "function": {"name": "f", "arguments": "{\\"a\\": \\"@\\", \\"@\\": [\\"@\\"]}"}}]}""",
        """{"role": "tool", "tool_call_id": "c1", "content": "@"}""",
    ],
    "openai-responses": [
        """{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "@"},
            {"type": "input_image", "image_url": "@"}, {"type": "input_file", "filename": "@", "file_data": "@"}]}""",
        """{"type": "reasoning", "id": "r1", "summary": [{"type": "summary_text", "text": "@"}],
            "content": [{"type": "reasoning_text", "text": "@"}], "encrypted_content": "@"}""",
        """{"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{\\"a\\": \\"@\\", \\"@\\": {}}"}""",
        """{"type": "custom_tool_call", "call_id": "c2", "name": "g", "input": "@"}""",
        """{"type": "function_call_output", "call_id": "c1", "output": [{"type": "input_text", "text": "@"}]}""",
        """{"type": "web_search_call", "id": "w1", "status": "completed", "action": {"type": "search", "query": "@"}}""",
    ],
    "gemini": [
        """{"role": "user", "parts": [{"text": "@"}, {"inlineData": {"mimeType": "image/png", "data": "@"}},
            {"fileData": {"mimeType": "image/png", "fileUri": "@"}},
            {"functionResponse": {"id": "c1", "name": "f", "response": {"@": "@", "list": ["@"]}}}]}""",
        """{"role": "model", "parts": [{"text": "@", "thought": true}, {"thoughtSignature": "@", "functionCall":
            {"id": "c1", "name": "f", "args": {"a": {"b": "@"}, "@": 1}}}, {"executableCode": {"code": "@"}},
            {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "@"}}]}""",
    ],
}
LISTS = {"anthropic": "messages", "openai-chat": "messages", "openai-responses": "input", "gemini": "contents"}
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"')

names = st.sampled_from(["ds4", "DS4", "ullage", "Ullage"])
blocked = st.sampled_from(["local-only", "Local-Only", "sensitive", "SENSITIVE"])
plain = st.text("ab \n{}[]:,/\\\"'é🦊", max_size=6)

TOKENS = st.one_of(
    st.from_regex(r"sk-(ant-)?[A-Za-z0-9]{8,20}", fullmatch=True),
    st.from_regex(r"gh[pousr]_[A-Za-z0-9]{12,20}", fullmatch=True),
    st.from_regex(r"github_pat_[A-Za-z0-9]{12,20}", fullmatch=True),
    st.from_regex(r"glpat-[A-Za-z0-9]{12,20}", fullmatch=True),
    st.from_regex(r"xox[abprs]-[0-9]{10}-[a-z0-9]{8}", fullmatch=True),
    st.from_regex(r"(AKIA|ASIA)[A-Z0-9]{16}", fullmatch=True),
)


@st.composite
def marked(draw: st.DrawFn) -> str:
    """A text that hides the canary in one of the ways that a marker can be written."""
    name, kind = draw(names), draw(blocked)
    opening, closing = f"[{name}:{kind}]", f"[/{name}:{kind}]"
    before, after = draw(plain).rstrip("\\"), draw(plain)
    return draw(
        st.sampled_from(
            [
                f"{before}{opening}{CANARY}{closing}{after}",
                f"{opening} {CANARY}{after}",
                f"{before}x{opening}{CANARY}{after}",
                f"{before}{CANARY}{closing}{after}",
                f"[ds4:internal]{before}{opening}{CANARY}{closing}[/ds4:internal]",
                f"{opening}{before}[/ds4:normal]{CANARY}{closing}",
                f"{before}[ds4:loc[ds4:internal][/ds4:internal]al-only]{CANARY}[/ds4:local-only]",
            ]
        )
    )


@st.composite
def written(draw: st.DrawFn, text: str) -> bytes:
    """The text as a string of JSON, any letter as an escape, in JSON inside of JSON up to three times."""
    for _ in range(draw(st.sampled_from([0, 0, 0, 1, 2]))):
        text = draw(st.sampled_from(['{"a": %s}', "[1, %s]", '{%s: 2, "b": "c"}'])) % draw(escaped(text))
    return draw(escaped(text)).encode()


@st.composite
def escaped(draw: st.DrawFn, text: str) -> str:
    style = draw(st.sampled_from(["plain", "ascii", "some", "slashes"]))
    if style == "slashes":
        return json.dumps(text, ensure_ascii=False).replace("/", "\\/")
    if style != "some":
        return json.dumps(text, ensure_ascii=style == "ascii")
    chosen = draw(st.sets(st.integers(0, max(len(text) - 1, 0)), max_size=6))
    letters = [
        f"\\u{ord(letter):04X}" if number in chosen and ord(letter) < 0x10000 else json.dumps(letter)[1:-1]
        for number, letter in enumerate(text)
    ]
    return f'"{"".join(letters)}"'


@st.composite
def placed(draw: st.DrawFn, dialect: Dialect, string: bytes) -> bytes:
    """A request with the string in place of one of its own, names included."""
    body = draw(requests(dialect))
    spans = [found.span() for found in _STRING.finditer(body)]
    assume(spans)
    start, end = draw(st.sampled_from(spans))
    return body[:start] + string + body[end:]


def shown(body: bytes) -> str:
    """All that anyone can read in the bytes, escapes read as often as they are nested."""
    text = body.decode("utf-8", "replace")
    for _ in range(4):
        text = re.sub(r"\\+u([0-9a-fA-F]{4})", lambda found: chr(int(found[1], 16)), text)
    return text


def sent(body: bytes, dialect: Dialect, destination: Destination = REMOTE) -> bytes:
    """What leaves; nothing if the request is refused."""
    guard = PrivacyGuard(PrivacySettings(enabled=True))
    try:
        prepared = guard.prepare(parsed(body, dialect), destination).conversation
        guard.check(prepared.body, destination)
    except PrivacyError as refused:
        assert refused.code == "privacy_refused"
        return b""
    return prepared.body


def parsed(body: bytes, dialect: Dialect) -> Conversation:
    try:
        return parse_request(body, dialect)
    except RequestError:
        assume(False)
        raise


@given(data=st.data(), dialect=dialects)
@relaxed
def test_marked_text_never_leaves_wherever_it_stands(data: st.DataObject, dialect: Dialect) -> None:
    string = data.draw(marked().flatmap(written))
    assert CANARY not in shown(sent(data.draw(placed(dialect, string)), dialect))


@given(data=st.data(), dialect=dialects, secret=TOKENS)
@relaxed
def test_a_secret_never_leaves_wherever_it_stands(data: st.DataObject, dialect: Dialect, secret: str) -> None:
    text = data.draw(plain) + " " + secret + " " + data.draw(plain)
    string = data.draw(written(text))
    assert secret not in shown(sent(data.draw(placed(dialect, string)), dialect))


@given(data=st.data(), dialect=dialects)
@relaxed
def test_what_is_left_is_a_request_with_as_many_slices(data: st.DataObject, dialect: Dialect) -> None:
    string = data.draw(marked().flatmap(written))
    body = data.draw(placed(dialect, string))
    left = sent(body, dialect)
    if left:
        before, after = parse_request(body, dialect), parse_request(left, dialect)
        for kind in ("system", "tools", "messages"):
            assert len(getattr(before, kind)) == len(getattr(after, kind))
        json.loads(left.decode("utf-8-sig"), strict=False, parse_int=str)


@given(data=st.data(), dialect=dialects)
@relaxed
def test_to_prepare_twice_is_to_prepare_once(data: st.DataObject, dialect: Dialect) -> None:
    string = data.draw(marked().flatmap(written))
    left = sent(data.draw(placed(dialect, string)), dialect)
    if left:
        again = parse_request(left, dialect)
        assert PrivacyGuard(PrivacySettings()).prepare(again, REMOTE).conversation is again


@given(data=st.data(), dialect=dialects)
@relaxed
def test_a_request_with_nothing_to_hide_stays_the_very_one(data: st.DataObject, dialect: Dialect) -> None:
    conversation = parsed(data.draw(requests(dialect)), dialect)
    guard = PrivacyGuard(PrivacySettings(enabled=True))
    assert guard.prepare(conversation, REMOTE).conversation is conversation
    guard.check(conversation.body, REMOTE)


@given(data=st.data(), dialect=dialects)
@relaxed
def test_a_local_provider_is_told_everything(data: st.DataObject, dialect: Dialect) -> None:
    string = data.draw(st.just(f"a [ds4:local-only]{CANARY}[/ds4:local-only] sk-abcdefgh12").flatmap(written))
    left = shown(sent(data.draw(placed(dialect, string)), dialect, LOCAL))
    assert (left.count(CANARY), left.count("sk-abcdefgh12")) == (1, 1)


@given(data=st.data(), dialect=dialects, kind=st.sampled_from(["local-only", "sensitive"]))
@relaxed
def test_a_marker_in_one_part_of_a_message_hides_all_of_it(data: st.DataObject, dialect: Dialect, kind: str) -> None:
    template = data.draw(st.sampled_from(MESSAGES[dialect]))
    texts = [f"text {number}" for number in range(template.count("@"))]
    opened = data.draw(st.integers(0, len(texts) - 1))
    texts[data.draw(st.integers(0, len(texts) - 1))] = CANARY
    texts[opened] = data.draw(st.sampled_from([f"a [ds4:{kind}] {{}}", f"{{}} [/ds4:{kind}]"])).format(texts[opened])
    message = re.sub("@", lambda _: texts.pop(0), template)
    body = f'{{"{LISTS[dialect]}": [{message}], "model": "m"}}'.encode()
    left = shown(sent(body, dialect))
    assert CANARY not in left
    assert all(name in left for name in re.findall('"(?:t1|t2|c1|c2|r1|w1|f|g)"', template))


@given(data=st.data(), dialect=dialects)
@relaxed
def test_a_class_that_no_text_may_have_leaves_nothing_of_a_message(data: st.DataObject, dialect: Dialect) -> None:
    template = data.draw(st.sampled_from(MESSAGES[dialect]))
    nothing = Destination(kind="remote", provider="openai", allowed=("normal",), base="internal")
    body = f'{{"{LISTS[dialect]}": [{template.replace("@", CANARY)}], "metadata": {{"a": "{CANARY}"}}}}'.encode()
    assert CANARY not in shown(sent(body, dialect, nothing))
