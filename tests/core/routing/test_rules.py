"""Rules and scenarios (routing specification, section 14)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.core.routing.routes import DEBUG, task_of
from ullage.core.routing.rules import Action, Facts, Rules, find_rule
from ullage.core.routing.rules_reading import read_rules
from ullage.core.routing.suggesting import count_slips, suggest

REVIEW_AND_PLAN = "Review the architecture, identify trade-offs, then propose a migration plan."


def rules(entries: list[Any] | None = None, scenarios: dict[str, Any] | None = None) -> Rules:
    found, problems = read_rules(entries or [], scenarios or {})
    assert problems == ()
    return found


def applied(found: Rules, prompt: str, **facts: Any) -> str | None:
    known: dict[str, Any] = {"context": 0, "images": False, **facts}
    rule, _ = find_rule(found, task_of(prompt), Facts(prompt=prompt, **known))
    return rule.name if rule is not None else None


def test_the_background_is_checked_before_kinds() -> None:
    found = rules(scenarios={"review": "anthropic/*", "background": "cost"})
    assert applied(found, REVIEW_AND_PLAN, trigger="extension") == "background"
    assert applied(found, REVIEW_AND_PLAN) == "review"


def test_kinds_are_checked_in_the_order_of_the_user() -> None:
    assert applied(rules(scenarios={"plan": {"policy": "best"}, "review": "cost"}), REVIEW_AND_PLAN) == "plan"


def test_rules_are_checked_before_scenarios() -> None:
    found = rules([{"name": "R1", "then": {"policy": "fast"}}], {"vision": "cost"})
    assert applied(found, "Look.", images=True) == "R1"


@pytest.mark.parametrize(
    ("word", "meant"),
    [("reveiw", "review"), ("longcontext", "longContext"), ("codeedit", "code-edit"), ("xyzzy", None)],
)
def test_an_unknown_scenario_is_told_with_what_was_meant(word: str, meant: str | None) -> None:
    _, (problem,) = read_rules([], {word: "cost"})
    assert problem.startswith(f"scenarios.{word}: ")
    assert (f"did you mean {meant!r}?" in problem) == (meant is not None)
    assert ("did you mean" in problem) == (meant is not None)


def test_two_neighbours_in_each_others_place_are_one_slip() -> None:
    assert count_slips("reveiw", "review") == 1
    assert suggest("abd", ["abc", "abe"]) == "abc"


def test_a_prompt_is_matched_whatever_its_case() -> None:
    entry = {
        "name": "hot",
        "when": {"kinds": "debug", "promptMatches": "hotfix|prod(uction)? down"},
        "then": {"policy": "best"},
    }
    found = rules([entry])
    assert applied(found, "HOTFIX: fix login") == "hot"
    assert applied(found, "HOTFIX: login") is None


@pytest.mark.parametrize(("context", "expected"), [(99_999, None), (100_000, "longContext")])
def test_a_context_is_long_from_a_hundred_thousand_tokens_on(context: int, expected: str | None) -> None:
    assert applied(rules(scenarios={"longContext": "cost"}), DEBUG, context=context) == expected


@pytest.mark.parametrize(
    ("when", "holds"),
    [
        ({}, True),
        ({"kinds": ["mixed"]}, True),
        ({"kinds": ["ops"]}, False),
        ({"minComplexity": 0.31575}, True),
        ({"maxComplexity": 0.3}, False),
        ({"minContextTokens": 1}, False),
        ({"maxContextTokens": 0}, True),
        ({"hasImages": False}, True),
        ({"hasImages": True}, False),
        ({"trigger": "extension"}, False),
    ],
)
def test_every_condition_must_hold(when: dict[str, Any], holds: bool) -> None:
    assert (applied(rules([{"name": "one", "when": when, "then": {"policy": "best"}}]), DEBUG) == "one") == holds


def test_each_entry_that_was_checked_has_a_verdict() -> None:
    found = rules(
        [{"name": "long", "when": {"minContextTokens": 5_000}, "then": {"policy": "cost"}}],
        {"test": "best", "ops": "cost"},
    )
    _, verdicts = find_rule(found, task_of(DEBUG), Facts(prompt=DEBUG, context=0, images=False))
    assert [(verdict.name, verdict.matched) for verdict in verdicts] == [("long", False), ("test", True)]
    assert verdicts[0].reason == "context: 0 is below 5000"


def test_a_scenario_is_a_policy_patterns_or_an_action() -> None:
    found = rules(scenarios={"plan": "price", "test": ["a/*", "b"], "ops": {"thinking": "high", "prefer": "c/*"}})
    actions = {entry.name: entry.then for entry in found.entries}
    assert actions["plan"] == Action(policy="cost")
    assert actions["test"] == Action(only=("a/*", "b"))
    assert actions["ops"] == Action(thinking="high", prefer=("c/*",))


def test_a_projects_rules_come_first_and_its_scenarios_stand_in_place() -> None:
    found, _ = read_rules(
        [{"name": "ours", "then": {"policy": "best"}}],
        {"plan": "best", "test": "best"},
        project_rules=[{"name": "theirs", "then": {"policy": "cost"}}],
        project_scenarios={"plan": "cost"},
    )
    assert [entry.name for entry in found.entries] == ["theirs", "ours", "plan", "test"]
    assert found.entries[2].then.policy == "cost"


@pytest.mark.parametrize(
    ("entry", "path"),
    [
        ({"name": "a", "then": {"thinking": "hgih"}}, "rules[1].then.thinking: 'hgih' is none of"),
        ({"name": "a", "then": {}}, "rules[1].then: it has no action"),
        (
            {"name": "a", "then": {"police": "best"}},
            "rules[1].then.police: there is no such field; did you mean 'policy'?",
        ),
        (
            {"name": "a", "when": {"kind": "ops"}, "then": {"policy": "best"}},
            "rules[1].when.kind: there is no such field",
        ),
        ({"name": "a", "when": {"promptMatches": "("}, "then": {"policy": "best"}}, "rules[1].when.promptMatches: "),
        (
            {"name": "a", "when": {"promptMatches": "(a+)+b"}, "then": {"policy": "best"}},
            "rules[1].when.promptMatches: it may take for ever",
        ),
        (
            {"name": "a", "when": {"promptMatches": "x" * 501}, "then": {"policy": "best"}},
            "rules[1].when.promptMatches: a",
        ),
        (
            {"name": "a", "when": {"minComplexity": 0.9, "maxComplexity": 0.1}, "then": {"policy": "best"}},
            "rules[1].when.minComplexity: 0.9 is above",
        ),
        (
            {"name": "a", "when": {"minComplexity": 7}, "then": {"policy": "best"}},
            "rules[1].when.minComplexity: 7 is no",
        ),
        ({"name": "good", "then": {"policy": "cost"}}, "rules[1].name: 'good' is there already"),
        ({"then": {"policy": "cost"}}, "rules[1].name: a name is expected"),
        ("cost", "rules[1]: an object is expected"),
    ],
)
def test_a_wrong_entry_is_left_out_alone_and_told_with_its_path(entry: Any, path: str) -> None:
    """Section 32, row 7."""
    found, (problem,) = read_rules([{"name": "good", "then": {"policy": "best"}}, entry], {})
    assert [rule.name for rule in found.entries] == ["good"]
    assert problem.startswith(path)


@pytest.mark.parametrize("pattern", ["(a*)*", "(?:x|y+){2,}", r"([a-z]+)*$", "(a|a)*b", r"\s*\s*\s*$"])
def test_a_pattern_that_may_take_for_ever_is_refused(pattern: str) -> None:
    """Section 14."""
    _, problems = read_rules([{"name": "a", "when": {"promptMatches": pattern}, "then": {"policy": "best"}}], {})
    assert len(problems) == 1


@pytest.mark.parametrize("pattern", ["(a)+b*", r"\(a+\)*", "[(a+)]*", "(ab?)+", "prod(uction)? down"])
def test_other_repetitions_are_taken(pattern: str) -> None:
    _, problems = read_rules([{"name": "a", "when": {"promptMatches": pattern}, "then": {"policy": "best"}}], {})
    assert problems == ()


@pytest.mark.parametrize(("pattern", "length"), [("needle", 4_000), ("(a|b)*needle", 4_000), ("a.*b.*needle", 400)])
def test_a_pattern_is_searched_in_the_beginning_of_a_prompt(pattern: str, length: int) -> None:
    """Section 14."""
    found = rules([{"name": "r", "when": {"promptMatches": pattern}, "then": {"policy": "best"}}])
    within = "ab" + " " * (length - len("abneedle")) + "needle"
    assert applied(found, within) == "r"
    assert applied(found, within.replace("ab", "ab ")) is None


def test_what_is_no_list_of_rules_is_told() -> None:
    assert read_rules(3, {}) == (Rules(), ("rules: a list is expected",))  # type: ignore[arg-type]
    assert read_rules([], 3) == (Rules(), ("scenarios: an object is expected",))  # type: ignore[arg-type]
