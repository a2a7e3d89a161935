"""Large tool results as references: offered with their weight, kept once a plan takes them, collected when nobody needs them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ullage.core.accounting import Meter, make_meter
from ullage.core.evidence.artifacts import ArtifactCaps, adapt_caps, make_artifact, reference_text
from ullage.core.planning.assembling import limit_budget, make_input, read_facts, render_plan
from ullage.core.planning.plan import plan
from ullage.core.planning.records import Replacement
from ullage.core.planning.request import Caps
from ullage.core.wire import Conversation, parse_request
from ullage.engine.trimming import KEEP_AGAIN_MS, Offered, Owner, Trimmer, open_artifacts
from ullage.stores import ArtifactRecord, MemoryStore

NOW_MS = 1_800_000_000_000
LONG = "".join(f"{number} of the lines of an output\n" for number in range(2_000))
OWNER = Owner("s1", "/code/a")
CAPS = Caps(recent_tail=100_000, pinned=0, memory=0, history=0, project=0, summary=0)


def conversation(*results: str, tail: str = "And now?") -> Conversation:
    """Calls of two tools in turn, each with a result, and a request at the end."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Look."}]
    for number, text in enumerate(results):
        name = ("read", "bash")[number % 2]
        call = {"type": "tool_use", "id": f"c{number}", "name": name, "input": {}}
        messages.append({"role": "assistant", "content": [call]})
        block = {"type": "tool_result", "tool_use_id": f"c{number}", "content": text}
        messages.append({"role": "user", "content": [block]})
    messages += [{"role": "assistant", "content": "I looked."}, {"role": "user", "content": tail}]
    return parse_request(json.dumps({"model": "m", "max_tokens": 9, "messages": messages}).encode(), "anthropic")


@pytest.fixture
def meter() -> Meter:
    return make_meter(dialect="anthropic", provider="anthropic", model="m", client=None, estimator="chars-v1")


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


@pytest.fixture
def trimmer(store: MemoryStore, tmp_path: Path) -> Trimmer:
    return Trimmer(store, data_dir=tmp_path, find_root=lambda path: path, caps=ArtifactCaps(), redact=str)


def offer(trimmer: Trimmer, sent: Conversation, meter: Meter, **named: Any) -> Offered:
    return trimmer.offer(sent, read_facts(sent, meter), meter, **{"input_tokens": 100_000, **named})


def taken(offered: Offered) -> list[Replacement]:
    """All that was offered, as a plan takes it."""
    trims = [reference.trim for reference in offered.references]
    return [
        Replacement(
            index=trim.index, ordinal=trim.ordinal, call_id=trim.call_id, artifact=trim.artifact, tokens=trim.tokens_after
        )
        for trim in trims
    ]  # fmt: skip


def test_large_results_are_offered_with_what_they_weigh_and_the_tools_they_are_of(
    trimmer: Trimmer, meter: Meter
) -> None:
    sent = conversation("short", LONG, LONG)
    first, second = offer(trimmer, sent, meter).references
    assert (first.trim.index, first.trim.ordinal, first.trim.call_id) == (4, 0, "c1")
    assert first.trim.tokens_before == -(-len(LONG) // 4)
    assert first.trim.tokens_after == -(-len(first.text) // 4)
    assert first.trim.artifact == make_artifact(LONG, call_id="c1").id
    assert 'tool: "bash"' in first.text
    assert 'tool: "read"' in second.text


def test_a_call_id_that_is_used_again_names_the_latest_tool_before_the_result(trimmer: Trimmer, meter: Meter) -> None:
    """Regression R8."""
    messages = []
    for name in ("old", "new"):
        messages.append(
            {"role": "assistant", "content": [{"type": "tool_use", "id": "x:0", "name": name, "input": {}}]}
        )
        block = {"type": "tool_result", "tool_use_id": "x:0", "content": f"{name} {LONG}"}
        messages.append({"role": "user", "content": [block]})
    sent = parse_request(json.dumps({"model": "m", "messages": messages}).encode(), "anthropic")
    texts = [reference.text for reference in offer(trimmer, sent, meter).references]
    assert ['tool: "old"' in texts[0], 'tool: "new"' in texts[1]] == [True, True]


def test_the_same_result_has_the_same_bytes_in_every_request_and_process(
    trimmer: Trimmer, meter: Meter, store: MemoryStore, tmp_path: Path
) -> None:
    other = Trimmer(store, data_dir=tmp_path, find_root=lambda path: path, caps=ArtifactCaps(), redact=str)
    one, two = conversation(LONG), conversation(LONG, LONG, tail="Something else?")
    (first,) = offer(trimmer, one, meter).references
    for maker in (trimmer, other):
        again = offer(maker, two, meter).references
        assert again[0].text == first.text
        assert again[0].trim == first.trim


def test_a_result_that_was_seen_is_not_read_again(
    trimmer: Trimmer, meter: Meter, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = conversation(LONG)
    offered = offer(trimmer, sent, meter)
    monkeypatch.setattr("ullage.engine.trimming.find_offers", None)
    assert offer(trimmer, sent, meter) == offered


def test_another_meter_weighs_the_same_bytes_otherwise(trimmer: Trimmer, meter: Meter) -> None:
    sent = conversation(LONG)
    wire = make_meter(dialect="anthropic", provider="anthropic", model="m", client=None, estimator="wire-v1")
    (one,), (other,) = (offer(trimmer, sent, by).references for by in (meter, wire))
    assert one.text == other.text
    assert one.trim.tokens_before != other.trim.tokens_before


def test_an_adaptive_budget_shares_what_room_a_request_has(store: MemoryStore, tmp_path: Path, meter: Meter) -> None:
    """Planner specification, section 20.5: here 8,000 characters for each of three."""
    trimmer = Trimmer(
        store, data_dir=tmp_path, find_root=lambda path: path, caps=ArtifactCaps(), redact=str, adaptive=True
    )
    sent = conversation(*("x" * 40_000 for _ in range(3)))
    facts = read_facts(sent, meter)
    others = facts.fixed_tokens + sum(facts.tokens) - 30_000
    for room, longest in ((8_000, 8_000), (100, 1_600), (-5_000, 1_600), (100_000, 12_000)):
        offered = offer(trimmer, sent, meter, input_tokens=others + room)
        assert len(offered.references) == 3
        assert {len(reference.text) for reference in offered.references} == {
            len(reference_text(make_artifact("x" * 40_000, call_id="c0", tool="read"), "x" * 40_000, caps))
            for caps in [adapt_caps(ArtifactCaps(), input_tokens=room, occupied_tokens=0, candidates=3)]
            if caps.inline_chars == longest
        }


def test_what_a_plan_takes_is_kept_and_noted(
    trimmer: Trimmer, meter: Meter, store: MemoryStore, tmp_path: Path
) -> None:
    sent = conversation(LONG)
    offered = offer(trimmer, sent, meter)
    assert trimmer.keep(offered, sent, taken(offered), OWNER, NOW_MS) == frozenset()
    artifact = make_artifact(LONG, call_id="c0")
    assert open_artifacts(tmp_path, "/code/a").read(artifact.sha256, most_bytes=10**6) == LONG.encode()
    trim = offered.references[0].trim
    assert store.artifacts() == [
        ArtifactRecord(
            id=artifact.id,
            session="s1",
            used_ms=NOW_MS,
            project="/code/a",
            sha256=artifact.sha256,
            size_bytes=len(LONG),
            chars=len(LONG),
            tool="read",
            call_id="c0",
            tokens_before=trim.tokens_before,
            tokens_after=trim.tokens_after,
        )
    ]


def test_nothing_is_kept_of_what_no_plan_takes(
    trimmer: Trimmer, meter: Meter, store: MemoryStore, tmp_path: Path
) -> None:
    sent = conversation(LONG)
    offer(trimmer, sent, meter)
    assert not (tmp_path / "artifacts").exists()
    assert store.artifacts() == []


def test_its_use_is_noted_again_now_and_then(trimmer: Trimmer, meter: Meter, store: MemoryStore) -> None:
    sent = conversation(LONG)
    offered = offer(trimmer, sent, meter)
    used = []
    for later in (0, KEEP_AGAIN_MS - 1, KEEP_AGAIN_MS):
        trimmer.keep(offered, sent, taken(offered), OWNER, NOW_MS + later)
        used.append(store.artifacts()[0].used_ms - NOW_MS)
    assert used == [0, 0, KEEP_AGAIN_MS]


def test_another_session_or_project_keeps_its_own(
    trimmer: Trimmer, meter: Meter, store: MemoryStore, tmp_path: Path
) -> None:
    sent = conversation(LONG)
    offered = offer(trimmer, sent, meter)
    for owner in (OWNER, Owner("s2", "/code/a"), Owner("s3", "/code/b"), Owner("s4", None)):
        assert trimmer.keep(offered, sent, taken(offered), owner, NOW_MS) == frozenset()
    assert {(record.session, record.project) for record in store.artifacts()} == {
        ("s1", "/code/a"), ("s2", "/code/a"), ("s3", "/code/b"), ("s4", None),
    }  # fmt: skip
    assert len([path for path in (tmp_path / "artifacts").rglob("*") if path.is_file()]) == 3


def test_what_cannot_be_kept_is_sent_as_it_is(
    trimmer: Trimmer, meter: Meter, store: MemoryStore, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "artifacts").write_text("in the way")
    sent = conversation(LONG, LONG + "other")
    offered = offer(trimmer, sent, meter)
    failed = trimmer.keep(offered, sent, taken(offered), OWNER, NOW_MS)
    assert failed == {(2, 0), (4, 0)}
    assert store.artifacts() == []
    assert "sent in full" in caplog.text
    assert offer(trimmer, sent, meter, excluded=failed).references == ()


def test_a_plan_under_pressure_takes_references_and_the_request_stays_valid(trimmer: Trimmer, meter: Meter) -> None:
    """From the offer to the bytes: only the text of the result changes, and the request fits."""
    sent = conversation(LONG, "short", LONG)
    facts = read_facts(sent, meter)
    offered = offer(trimmer, sent, meter)
    limit = facts.fixed_tokens + sum(facts.tokens) - offered.references[0].trim.saved - 10
    made = plan(make_input(facts, budget=limit_budget(limit), caps=CAPS, evidence=offered.references))
    assert made.replaced and not trimmer.keep(offered, sent, made.replaced, OWNER, NOW_MS)
    assert made.tokens <= limit
    body = json.loads(render_plan(sent, made, evidence=offered.references))
    texts = {reference.trim.index: reference.text for reference in offered.references}
    for one in made.replaced:
        assert body["messages"][made.kept.index(one.index)]["content"][0]["content"] == texts[one.index]
