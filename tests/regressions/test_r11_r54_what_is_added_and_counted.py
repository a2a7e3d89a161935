"""Planner specification, section 35, by row: what is kept, hidden, counted, cut and added."""

from __future__ import annotations

import base64
import json
import re
from itertools import pairwise
from typing import Any

import aiohttp
import pytest

from tests.faults.conftest import Managed
from tests.faults.rig import ROOMY, Gate, Planner, Story, words
from tests.faults.test_counting import pictured
from ullage.core.accounting import make_meter
from ullage.core.evidence.artifacts import ArtifactCaps, make_artifact, reference_text
from ullage.core.evidence.excerpts import head, shorten, tail
from ullage.core.evidence.mutations import Item, Mutation, replay
from ullage.core.evidence.ranking import rank
from ullage.core.planning import plan
from ullage.core.planning.assembling import limit_budget, make_input
from ullage.core.planning.manifest import report_plan
from ullage.core.planning.shortening import excerpt
from ullage.core.privacy.placeholders import SECRET, withheld
from ullage.core.wire import DIALECTS, Dialect, parse_request

every_dialect = pytest.mark.parametrize("dialect", DIALECTS)


def memory(name: str, text: str) -> Item:
    mutation = Mutation(
        id=name, created_ms=1, kind="memory", scope="session", session="s", op="add", item=name, payload={"text": text}
    )
    found = replay([mutation]).find(name)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("request_text", "matches"),
    [("Turn it on.", []), ("Where is the config?", ["a"]), ("What about con?", []), ("CONFIG!", ["a"]), ("...", [])],
)
def test_r11_a_word_matches_whole_words_alone(request_text: str, matches: list[str]) -> None:
    """ "on" matched "config"."""
    ranked = rank([memory("a", "The config lies in /etc."), memory("b", "Tests run with pytest.")], request_text)
    assert [one.item.id for one in ranked if one.is_match] == matches


def test_r16_what_a_manifest_leaves_out_is_told() -> None:
    """A sample of what was excluded was shown as all of it."""
    story = Story("openai-chat")
    for number in range(150):
        story.turn(f"{number}", "Yes.")
    story.user("And now?")
    told = _report(story)
    assert told["messages"]["excluded"] == 300
    assert told["inventory"]["completeness"] == "rollup"
    assert told["inventory"]["excluded"]["counts"] == {"items": 300, "kept": 256}
    assert len(told["excluded"]) == 256
    story.messages = story.messages[-101:]
    assert "inventory" not in _report(story)


def _report(story: Story) -> dict[str, Any]:
    given = make_input(Planner(story).facts, budget=limit_budget(20), caps=ROOMY)
    return report_plan(plan(given), given)


LETTERS = "aB3dE6gH9jK2mN5pQ8rS1tU4vW7xY0zA3bC6dE9f"
SECRETS = {
    "ghp_": f"ghp_{LETTERS[:36]}",
    "github_pat_": f"github_pat_{LETTERS[:22]}_{LETTERS}{LETTERS[:19]}",
    "glpat-": f"glpat-{LETTERS[:20]}",
    "xoxb-": f"xoxb-123456789012-123456789012-{LETTERS[:24]}",
    "AKIA": "AKIAQ3EGRZB7XN5TLWPK",
    "ASIA": "ASIAQ3EGRZB7XN5TLWPK",
    "private key": "-----BEGIN RSA PRIVATE KEY-----\n" + f"{LETTERS}{LETTERS}\n" * 4 + "-----END RSA PRIVATE KEY-----",
}


@every_dialect
@pytest.mark.parametrize("kind", SECRETS)
async def test_r29_a_credential_leaves_neither_in_a_message_nor_in_a_result(
    dialect: Dialect, kind: str, managed: Managed
) -> None:
    """0.5.0: credentials were found in the index, as formats of tokens were missing from the list."""
    secret = SECRETS[kind]
    story = Story(dialect)
    story.user(f"The token is {secret} and works.")
    story.exchange(f"token: {secret}\n{words(30)}")
    story.user("Thanks.")
    async with managed(20_000, privacy={"enabled": True}) as gate:
        reply = await gate.send(story)
    assert reply.status == 200
    assert secret not in str(reply.sent)
    assert LETTERS[:16] not in str(reply.sent)
    assert SECRET in str(reply.sent)
    assert "and works" in str(reply.sent)


@pytest.mark.parametrize("route", ["pins", "memory"])
@pytest.mark.parametrize("text", [SECRET, withheld("local-only"), "The rule is " + withheld("sensitive")])
async def test_r31_what_stands_for_a_withheld_text_is_never_kept_as_one(
    route: str, text: str, managed: Managed
) -> None:
    """0.3.0-alpha.2: a claim became the placeholder that had been sent in its place."""
    async with managed(1_000) as gate, aiohttp.ClientSession() as client:
        headers = {"authorization": f"Bearer {gate.daemon.token_file.read_text()}"}
        change = json.dumps({"action": "add", "text": text, "session": "s"})
        async with client.post(f"{gate.daemon.url}/ullage/v1/{route}", headers=headers, data=change) as response:
            assert response.status == 400
        async with client.get(f"{gate.daemon.url}/ullage/v1/{route}", headers=headers) as response:
            assert list((await response.json()).values()) == [[]]


def tokens_of(text: str, provider: str, model: str) -> int:
    meter = make_meter(dialect="openai-chat", provider=provider, model=model, client=None)
    return meter.rule.result(text, None).tokens


MODELS = [
    ("openai", "gpt-5.5"),
    ("anthropic", "claude-opus-5"),
    ("example", "any-model"),
    ("deepseek", "deepseek-chat"),
]
IDEOGRAPHS = "".join(chr(0x4E00 + 13 * n) for n in range(1_000))


@pytest.mark.parametrize(("provider", "model"), MODELS)
def test_r35_a_thousand_ideographs_are_eight_hundred_tokens_at_least(provider: str, model: str) -> None:
    """pi #2562, openclaw #70052, #103930: sessions in Chinese and Japanese overflowed, at four characters a token."""
    assert tokens_of(IDEOGRAPHS, provider, model) >= 800


DENSE = {
    "base64": base64.b64encode(bytes((n * 197 + n // 7) % 256 for n in range(3_000))).decode(),
    "hex": "".join(f"{(n * 197 + n // 7) % 256:02x}" for n in range(2_000)),
    "xml": "".join(f'<row id="{n}" a="{n * 7 % 97}"><v>{n * n % 1_000}</v></row>' for n in range(80)),
    "code": "".join(f"if (x{n}[i]!=y{n}){{z{n}+=f(x{n},{n});}}" for n in range(100)),
}


@pytest.mark.parametrize("kind", DENSE)
@pytest.mark.parametrize(("provider", "model"), MODELS)
def test_r36_dense_text_is_more_than_a_quarter_token_a_character(kind: str, provider: str, model: str) -> None:
    """riftor #122, github/app #3862: overflow on code, XML and base64."""
    text = DENSE[kind]
    assert tokens_of(text, provider, model) >= 0.33 * len(text)


@every_dialect
@pytest.mark.parametrize("in_result", [False, True], ids=["from the user", "from a tool"])
def test_r37_a_picture_costs_the_same_whatever_its_bytes(dialect: Dialect, in_result: bool) -> None:
    """gemini-cli #17923, OmniRoute #8368, hermes-agent #108320, tau #452: base64 was counted as text."""
    small, large = (Planner(pictured(dialect, size, in_result=in_result)).tokens for size in (2_000, 500_000))
    assert small == large < 6_000


@every_dialect
def test_r38_a_picture_of_the_user_costs_something(dialect: Dialect) -> None:
    """pi PR 1441: overflow after many screenshots, which were counted as nothing."""
    story = Story(dialect)
    story.user("")
    assert Planner(pictured(dialect, 2_000)).tokens > Planner(story).tokens + 80


async def loop(gate: Gate, story: Story, steps: int) -> list[list[bytes]]:
    """A turn of the user with so many requests; the messages that each of them sent."""
    sent = []
    for step in range(steps):
        if step:
            story.exchange(f"{step} {words(10)}")
        reply = await gate.send(story, x_ullage_session="s")
        assert reply.status == 200
        sent.append([piece.raw for piece in parse_request(reply.raw, story.dialect).messages])
    return sent


@every_dialect
async def test_r50_what_is_added_keeps_its_bytes_through_a_turn(dialect: Dialect, managed: Managed) -> None:
    """context-mode PR 822, clawbolt #1420, mastra #10381: caches were missed, as text that changes was put in early."""
    story = Story(dialect)
    story.turn(words(30), words(30))
    story.user("Look for the port.")
    async with managed(20_000) as gate:
        await gate.keep("pins", text="Amounts are cents.", session="s")
        await gate.keep("memory", text="The port is 8484.", session="s")
        before = await loop(gate, story, 3)
        await gate.keep("pins", text="Never edit gen/.", session="s")
        story.exchange(words(10))
        after = await loop(gate, story, 2)
        story.assistant("Done.")
        story.user("Next.")
        (fresh,) = await loop(gate, story, 1)
    requests = [*before, *after]
    for earlier, later in pairwise(requests):
        assert later[: len(earlier)] == earlier
    added = [piece for piece in requests[-1] if b"[ullage " in piece]
    assert len(added) == 2
    assert not re.search(rb"\d\d:\d\d|20\d\d-\d\d|\b\d{13}\b", b"".join(added)), "no times"
    assert sum(b"[ullage " in piece for piece in fresh) == 3


@every_dialect
async def test_r51_a_prefix_is_the_same_from_turn_to_turn(dialect: Dialect, managed: Managed) -> None:
    """antirez/ds4 #62, #389, Crow #60: 180k tokens were read anew after one small difference, or reasoning that was dropped."""
    story = Story(dialect)
    sent: list[list[bytes]] = []
    async with managed(20_000) as gate:
        for number in range(4):
            story.user(f"question {number}")
            story.exchange(words(10), thinks=True)
            sent += await loop(gate, story, 3)
            story.assistant("Done.")
    assert all(later[: len(earlier)] == earlier for earlier, later in pairwise(sent))


@pytest.mark.parametrize("chars", range(24))
def test_r52_no_cut_falls_between_the_halves_of_a_character(chars: int) -> None:
    """kilocode PR 10471, kimi-code #3756, llumiverse #462: a session was unusable after an emoji."""
    text = "a\U0001f98a" * 8
    for cut in (head(text, chars), tail(text, chars), shorten(text, chars), excerpt(text, chars)):
        assert cut.encode("utf-16-le").decode("utf-16-le") == cut
    assert text.startswith(head(text, chars)) and text.endswith(tail(text, chars))


@every_dialect
async def test_r53_a_result_that_was_shortened_still_parses(dialect: Dialect, managed: Managed) -> None:
    """pi-mono #60: output was truncated after it had been encoded."""
    rows = json.dumps([{"name": f'row "{n}"\n', "value": "\\" * 20} for n in range(800)])
    story = Story(dialect)
    story.user("Look.")
    story.exchange(rows)
    for limit in range(300, 2_000, 150):
        made = Planner(story, excerpts=True).within(limit)
        assert _result_of(made.messages[-1], dialect).startswith("[{")
    async with managed(2_000, artifacts={"inline_chars": 2_000, "excerpt_chars": 300}) as gate:
        reply = await gate.send(story)
        assert (reply.status, reply.plan) == (200, "emergency")
        assert "artifact id" in _result_of(reply.messages[-1], dialect)


def _result_of(message: dict[str, Any], dialect: Dialect) -> str:
    """The text of a result, from where its dialect has it."""
    if dialect == "gemini":
        text = message["parts"][0]["functionResponse"]["response"]["output"]
    elif dialect == "anthropic":
        text = message["content"][0]["content"]
    else:
        text = message["output" if dialect == "openai-responses" else "content"]
    assert isinstance(text, str)
    return text


def test_r54_what_stands_for_a_result_names_what_is_there_and_how_to_get_it() -> None:
    """nanobot PR 4647: the model looked anew for output that was removed, as the placeholder sounded like a failure."""
    text = "\n".join(f"line {n}" for n in range(4_000))
    artifact = make_artifact(text, call_id="c", tool="read")
    reference = reference_text(artifact, text, ArtifactCaps())
    assert artifact.id in reference
    assert "artifact_search" in reference and "artifact_read" in reference
    assert "status: success" in reference
    lines = [line for line in reference.lower().splitlines() if not line.startswith(("head:", "tail:", "error lines:"))]
    assert not re.search(r"fail|lost|missing|removed|deleted|truncat|unavailable|sorry", "\n".join(lines))
    assert not re.search(r"fail|lost|missing|removed|deleted|truncat|error", excerpt(text, 40).lower().splitlines()[-2])
