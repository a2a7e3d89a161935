"""`import ullage`: what other programs may rely on."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import ullage
from ullage import library
from ullage.core.errors import CallError
from ullage.core.wire import DIALECTS, Dialect
from ullage.testing import make_request, make_tools, make_turns
from ullage.testing.builders import Exchange

RECORDINGS = Path(__file__).resolve().parent / "data" / "sessions"
REQUEST = make_request(
    "anthropic",
    turns=(*make_turns(20, 400), "Look.", Exchange(result="word " * 1_500), "Seen.", "And now?"),
    tools=make_tools(2),
    system="Be brief.",
)
UNKNOWN = ullage.resolve_profile("example", "any-model")
SMALL = ullage.resolve_profile(
    "example", "any-model", overrides={"*": ullage.ModelOverride(context_window=4_000, max_output_tokens=1_000)}
)


def conversation() -> ullage.Conversation:
    return ullage.parse_request(REQUEST.body, "anthropic")


def test_every_name_of_the_library_is_there() -> None:
    assert set(ullage.__all__) == {*library.__all__, "__version__"}
    for name in library.__all__:
        assert getattr(ullage, name) is getattr(library, name)
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = ullage.no_such_name  # type: ignore[attr-defined]


def test_importing_the_package_loads_nothing_of_it() -> None:
    code = "import ullage, sys; print(sorted(name for name in sys.modules if name.startswith('ullage')))"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed.strip() == "['ullage', 'ullage._version']"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_request_is_planned_and_rendered(dialect: Dialect) -> None:
    request = make_request(dialect, turns=make_turns(20, 400), tools=make_tools(2), system="Be brief.")
    parsed = ullage.parse_request(request.body, dialect)
    plan = ullage.plan(parsed, UNKNOWN, input_limit=2_000)
    assert plan.status == "managed"
    sent = ullage.parse_request(ullage.render(parsed, plan), dialect)
    assert [piece.raw for piece in sent.messages] == [parsed.messages[index].raw for index in plan.kept]
    assert ullage.account(sent, UNKNOWN).total.tokens <= 2_000


def test_limits_are_those_of_the_profile_unless_one_is_named() -> None:
    drawn = ullage.plan(conversation(), SMALL)
    assert drawn.limit < 4_000
    assert drawn.tokens <= drawn.limit
    named = ullage.plan(conversation(), SMALL, input_limit=100_000)
    assert (named.status, named.limit) == ("unchanged", 100_000)
    with pytest.raises(CallError, match="context window of example/any-model is not known"):
        ullage.plan(conversation(), UNKNOWN)


def test_what_the_answer_may_have_is_kept_free() -> None:
    body = {**REQUEST.payload, "max_tokens": 2_000}
    asking = ullage.parse_request(json.dumps(body).encode(), "anthropic")
    assert ullage.plan(asking, SMALL).limit < ullage.plan(conversation(), SMALL).limit


def test_what_counts_and_by_what_is_the_callers_choice() -> None:
    whole = ullage.plan(conversation(), UNKNOWN, input_limit=10**6)
    messages = ullage.plan(conversation(), UNKNOWN, input_limit=10**6, scope="messages")
    chars = ullage.plan(conversation(), UNKNOWN, input_limit=10**6, estimator="chars-v1")
    assert messages.tokens < whole.tokens != chars.tokens


def test_pins_stay() -> None:
    assert 0 not in ullage.plan(conversation(), UNKNOWN, input_limit=1_500).kept
    assert 0 in ullage.plan(conversation(), UNKNOWN, input_limit=1_500, pins=["/messages/0"]).kept


def test_evidence_is_offered_to_the_plan_and_handed_to_render() -> None:
    parsed = conversation()
    note = ullage.Supplement(
        id="note", kind="pin", text="Amounts are cents.", tokens=9, score=950.0, source_ids=("me",), reason="asked for"
    )
    shortened = ullage.shorten_results(parsed, UNKNOWN, input_limit=1_500)
    evidence = (note, *shortened)
    plan = ullage.plan(parsed, UNKNOWN, evidence=evidence, input_limit=1_500)
    assert [placed.supplement_id for placed in plan.supplements] == ["note"]
    assert len(plan.replaced) == 1
    sent = json.loads(ullage.render(parsed, plan, evidence=evidence, model="other"))
    assert sent["model"] == "other"
    assert sent["messages"][-2] == {"role": "user", "content": "Amounts are cents."}
    with pytest.raises(CallError, match="not given"):
        ullage.render(parsed, plan)


def test_a_request_is_accounted_for() -> None:
    breakdown = ullage.account(conversation(), SMALL)
    assert breakdown.window == 4_000
    assert sum(section.tokens for section in breakdown.sections) + breakdown.gap == breakdown.total.tokens


def test_a_session_is_read() -> None:
    session = ullage.read_session(RECORDINGS / "pi" / "pi-mono-version-1.jsonl")
    assert session.client == "pi"


def test_a_prompt_has_a_route() -> None:
    models = [
        ullage.ModelRecord(provider="anthropic", id=name, context_window=200_000, max_output_tokens=8_192)
        for name in ("claude-opus-5", "claude-haiku")
    ]
    session = ullage.RouteSession(pin="anthropic/claude-haiku")
    assert ullage.resolve_route(models, "Look.", policy="best").target == "anthropic/claude-opus-5"
    assert ullage.resolve_route(models, "Look.", session=session).target == "anthropic/claude-haiku"


@pytest.mark.parametrize("number", [0, 1])
def test_the_examples_of_the_manual_run(number: int, capsys: pytest.CaptureFixture[str]) -> None:
    page = (RECORDINGS.parents[2] / "docs" / "reference" / "library.md").read_text()
    example = re.findall(r"```python\n(.*?)```", page, re.DOTALL)[number]
    exec(compile(example, "library.md", "exec"), {})
    assert number or "unchanged (0,) " in capsys.readouterr().out


def test_the_manual_names_every_function() -> None:
    page = (RECORDINGS.parents[2] / "docs" / "reference" / "library.md").read_text()
    functions = [name for name in ullage.__all__ if name.islower() and not name.startswith("_")]
    assert [name for name in functions if f"| `{name}(" not in page] == []
