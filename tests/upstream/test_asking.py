"""One question to a provider: every way it can fail has a sentence of its own, and none shows the key."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from ullage.core.errors import UpstreamError
from ullage.settings import UpstreamSettings
from ullage.settings.credentials import Credential
from ullage.testing import FakeProvider, Fault, Reply, Rule
from ullage.upstream import UpstreamClient
from ullage.upstream.asking import Target, ask, scrub

SECRET = "sk-ant-very-secret-key-0123456789"
KEY = Credential("ANTHROPIC_API_KEY", SECRET)
BODY = b'{"model":"m","messages":[{"role":"user","content":"hi"}]}'
PATH = "/v1/messages/count_tokens"


@pytest.fixture
async def client() -> AsyncIterator[UpstreamClient]:
    client = UpstreamClient(UpstreamSettings(idle_timeout_s=0.2, connect_timeout_s=1))
    yield client
    await client.close()


async def failing(client: UpstreamClient, fault: Fault) -> UpstreamError:
    async with FakeProvider([Rule(route="count", fault=fault)]) as provider:
        with pytest.raises(UpstreamError) as caught:
            await ask(client, Target(provider.url, "anthropic", KEY), PATH, BODY)
    return caught.value


async def test_the_answer_comes_back_and_the_key_went_along(client: UpstreamClient) -> None:
    async with FakeProvider() as provider:
        assert b"input_tokens" in await ask(client, Target(provider.url, "anthropic", KEY), PATH, BODY)
        assert provider.requests[0].header("x-api-key") == SECRET
        assert provider.requests[0].body == BODY


@pytest.mark.parametrize(
    ("status", "code", "words"),
    [
        (400, "upstream_rejected", "rejects the request (400): No."),
        (401, "upstream_unauthorized", "does not accept $ANTHROPIC_API_KEY (401): No."),
        (403, "upstream_unauthorized", "does not allow this with $ANTHROPIC_API_KEY (403): No."),
        (404, "upstream_unknown", "does not know this endpoint or this model (404): No."),
        (413, "upstream_rejected", "finds the request too large (413): No."),
        (429, "upstream_limited", "asks to wait: too many requests (429): No."),
        (500, "upstream_failed", "answers with status 500 (500): No."),
        (529, "upstream_failed", "answers with status 529 (529): No."),
    ],
)
async def test_each_status_has_its_sentence(client: UpstreamClient, status: int, code: str, words: str) -> None:
    error = await failing(client, Fault(status=status, message="No."))
    assert (error.code, error.message.partition(" ")[2]) == (code, words)
    assert error.hint


async def test_a_rate_limit_names_the_wait(client: UpstreamClient) -> None:
    assert (await failing(client, Fault(status=429, retry_after_s=17))).hint.startswith("It names 17 s.")


async def test_a_silent_provider_is_a_time_out(client: UpstreamClient) -> None:
    assert (await failing(client, Fault(delay_ms=2_000))).code == "upstream_timeout"
    assert (await failing(client, Fault(stall_after=3))).code == "upstream_timeout"


async def test_a_closed_connection_is_told(client: UpstreamClient) -> None:
    assert (await failing(client, Fault(hang_up=True))).code == "upstream_closed"


async def test_a_page_of_html_does_not_fill_the_screen(client: UpstreamClient) -> None:
    error = await failing(client, Fault(html=True))
    assert "status 502" in error.message
    assert len(error.message) < 400
    assert "\n" not in error.message


async def test_an_endless_answer_is_given_up(client: UpstreamClient) -> None:
    rule = Rule(route="count", reply=Reply(body=b"x" * (5 * 1024 * 1024)))
    async with FakeProvider([rule]) as provider:
        with pytest.raises(UpstreamError, match="far too long"):
            await ask(client, Target(provider.url, "anthropic", KEY), PATH, BODY)


async def test_without_a_key_a_refusal_says_so(client: UpstreamClient) -> None:
    async with FakeProvider([Rule(route="count", fault=Fault(status=401))]) as provider:
        with pytest.raises(UpstreamError, match="does not accept a request without a key"):
            await ask(client, Target(provider.url, "anthropic", None), PATH, BODY)


async def test_a_provider_that_repeats_the_key_is_not_quoted_with_it(client: UpstreamClient) -> None:
    error = await failing(client, Fault(status=401, message=f"Incorrect API key provided: {SECRET}."))
    assert SECRET not in error.message
    assert "Incorrect API key provided: [key]" in error.message


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("bad key sk-proj-abcd****wxyz here", "bad key [key] here"),
        ("header Bearer abc.def ignored", "header [key] ignored"),
        ("AIzaSyD-1234567890 is unknown", "[key] is unknown"),
        ("two\nlines\x1b[31m", "two lines [31m"),
        ("plain words", "plain words"),
        ("x" * 500, "x" * 239 + "…"),
    ],
)
def test_words_of_a_provider_are_scrubbed(said: str, shown: str) -> None:
    assert scrub(said, None) == shown


@pytest.mark.parametrize(
    "said",
    ["bad key {key}", "bad key {key:.14}...", "ends in {tail}", "{key:.6} and {key:.9} and {key}"],
    ids=["whole", "its beginning", "its end", "several pieces"],
)
def test_no_piece_of_a_key_is_shown(said: str) -> None:
    key = "zz-weird-key-0123456789abcdef"
    credential = Credential("ANTHROPIC_API_KEY", key)
    shown = scrub(said.format(key=key, tail=key[-9:]), credential)
    assert "[key]" in shown
    assert not [at for at in range(len(key) - 6) if key[at : at + 6] in shown]
