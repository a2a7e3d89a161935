"""What holds of every analyzed task (routing specification, section 4)."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from tests.core.routing.translations import MORE_TASKS, TASKS
from ullage.core.routing.prefix import parse_prefix
from ullage.core.routing.signals import KINDS, MIXED
from ullage.core.routing.task import Evidence, TaskProfile, analyze_task

relaxed = settings(deadline=None, max_examples=150)

sentences = st.sampled_from([prompt for task in (*TASKS, *MORE_TASKS) for prompt in task.values()])
pieces = st.one_of(
    sentences,
    st.text(max_size=40),
    st.sampled_from(
        ["```", "`", '"', "do not ", "不要", "しないで", "nicht.", "\n", "; ", "at x (", "Error: ", "fix ", "@high "]
    ),
)
prompts = st.lists(pieces, max_size=8).map("".join)
counts = st.integers(0, 10_000)
evidence = st.builds(
    Evidence,
    tool_calls=counts,
    tool_errors=counts,
    failing_tests=counts,
    files_touched=counts,
    changed_lines=counts,
    grown_tokens=counts,
)


def shares(task: TaskProfile) -> list[float]:
    return [
        task.complexity,
        task.risk,
        task.confidence,
        task.latency_sensitivity,
        task.cost_sensitivity,
        *structs.astuple(task.demand),
        *structs.astuple(task.semantic),
    ]


@relaxed
@given(prompts, counts, st.integers(0, 3), evidence, st.sampled_from(["v1", "v2"]))
def test_every_figure_is_a_share_and_the_summands_make_the_complexity(
    prompt: str, context: int, images: int, known: Evidence, analyzer: str
) -> None:
    task = analyze_task(
        prompt,
        context_tokens=context,
        images=images,
        evidence=known,
        analyzer=analyzer,  # type: ignore[arg-type]
    )
    assert all(0 <= share <= 1 for share in shares(task))
    assert task.complexity == pytest.approx(min(sum(term.value for term in task.terms), 1))
    assert task.required_context_tokens >= context + 1024
    assert set(task.kinds) <= {*KINDS, MIXED}
    assert (MIXED in task.kinds) == (len(task.kinds) != 1 or task.kinds == (MIXED,))


@relaxed
@given(prompts, prompts)
def test_the_same_prompt_is_the_same_task(prompt: str, before: str) -> None:
    previous = analyze_task(before)
    assert analyze_task(prompt, previous=previous) == analyze_task(prompt, previous=analyze_task(before))


@relaxed
@given(prompts, prompts)
def test_going_on_never_makes_a_task_harder(prompt: str, before: str) -> None:
    previous = analyze_task(before)
    task = analyze_task(prompt, previous=previous)
    if task.inherited:
        assert task.kinds == previous.kinds
        assert task.complexity <= previous.complexity
        assert task.confidence <= 0.5


@relaxed
@given(sentences, prompts)
def test_what_stands_in_a_fence_adds_no_kind(prompt: str, shown: str) -> None:
    pasted = shown.replace("`", "").replace("~", "")
    assert set(analyze_task(f"{prompt}\n```\n{pasted}\n```").kinds) == set(analyze_task(prompt).kinds)


@relaxed
@given(prompts, evidence)
def test_evidence_of_trouble_never_makes_a_task_easier(prompt: str, known: Evidence) -> None:
    assert analyze_task(prompt, evidence=known).complexity >= analyze_task(prompt).complexity


@relaxed
@given(prompts, st.booleans())
def test_a_prefix_takes_nothing_from_the_prompt_but_itself(prompt: str, first_turn: bool) -> None:
    prefix, rest = parse_prefix(prompt, first_turn=first_turn)
    assert prompt.endswith(rest)
    assert rest or not prompt
    assert first_turn or not prefix.pinned
