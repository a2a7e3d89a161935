"""A stream cut at any byte says the same, and no bytes at all break the reader of an answer."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.strategies import cut, dialects, plain_values, values
from ullage.core.wire import AnswerReader, Dialect, ServerSentEvent, SSEDecoder, read_answer, read_usage

relaxed = settings(
    deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)

_lines = st.one_of(
    st.text(max_size=8).map(lambda text: f"data: {text}"),
    values.map(lambda text: f"data:{text}"),
    st.sampled_from(
        [": ping", ":", "event: message_delta", "event", "id: 7", "retry: 10", "data", "", "", "data: [DONE]"]
    ),
).map(lambda line: line.replace("\n", " ").replace("\r", " "))


@st.composite
def streams(draw: st.DrawFn) -> bytes:
    """Event streams with all line ends, a byte-order mark now and then, and any last line."""
    ends = st.sampled_from(["\n", "\r", "\r\n"])
    lines = draw(st.lists(_lines, max_size=12))
    text = draw(st.sampled_from(["", "\ufeff"])) + "".join(line + draw(ends) for line in lines)
    return (text + draw(st.sampled_from(["", "data: last"]))).encode()


def events(chunks: list[bytes]) -> list[ServerSentEvent]:
    decoder = SSEDecoder()
    return [event for chunk in chunks for event in decoder.feed(chunk)] + decoder.close()


@given(data=st.data())
@relaxed
def test_a_stream_gives_the_same_events_however_it_is_cut(data: st.DataObject) -> None:
    stream = data.draw(streams())
    assert events(data.draw(cut(stream))) == events([stream])


@given(stream=streams())
@relaxed
def test_a_stream_gives_the_same_events_byte_by_byte(stream: bytes) -> None:
    assert events([stream[index : index + 1] for index in range(len(stream))]) == events([stream])


@given(data=st.data(), dialect=dialects, streamed=st.booleans())
@relaxed
def test_an_answer_reads_the_same_however_it_is_cut(data: st.DataObject, dialect: Dialect, streamed: bool) -> None:
    stream = data.draw(st.one_of(streams(), values.map(str.encode), st.binary(max_size=40)))
    whole = AnswerReader(dialect, streamed=streamed)
    whole.feed(stream)
    pieces = AnswerReader(dialect, streamed=streamed)
    for chunk in data.draw(cut(stream)):
        pieces.feed(chunk)
    assert pieces.close() == whole.close()


@given(body=st.one_of(st.binary(max_size=80), values.map(str.encode)), dialect=dialects)
@relaxed
def test_any_body_is_an_answer(body: bytes, dialect: Dialect) -> None:
    answer = read_answer(body, dialect)
    assert answer.malformed_events in (0, 1)


_counts = st.one_of(st.integers(-10, 200), plain_values)
_usage_keys = st.sampled_from(
    [
        "prompt_tokens",
        "completion_tokens",
        "total_tokens",
        "input_tokens",
        "output_tokens",
        "cached_tokens",
        "reasoning_tokens",
        "cache_read_input_tokens",
        "cache_creation_input_tokens",
        "cache_write_tokens",
        "prompt_cache_hit_tokens",
        "prompt_tokens_details",
        "completion_tokens_details",
        "input_tokens_details",
        "output_tokens_details",
        "cache_creation",
        "ephemeral_5m_input_tokens",
        "ephemeral_1h_input_tokens",
        "promptTokenCount",
        "candidatesTokenCount",
        "thoughtsTokenCount",
        "cachedContentTokenCount",
        "toolUsePromptTokenCount",
    ]
)
_figures = st.dictionaries(_usage_keys, _counts, max_size=6)
usages = st.dictionaries(_usage_keys, st.one_of(_counts, _figures), max_size=8)


@given(payload=usages, dialect=dialects)
@relaxed
def test_no_usage_ever_has_a_negative_part(payload: dict[str, object], dialect: Dialect) -> None:
    usage = read_usage(payload, dialect)
    parts = (usage.input_fresh, usage.cache_read, usage.cache_write, usage.output, usage.reasoning)
    assert all(part is None or (isinstance(part, int) and part >= 0) for part in parts)
    assert usage.raw == payload
