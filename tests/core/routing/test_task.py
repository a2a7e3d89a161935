"""What a prompt asks of a model (routing specification, section 4; and complaints of section 34.3)."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import pytest

from tests.core.routing.translations import HELD_OUT, MORE_TASKS, REPORTED, TASKS
from ullage.core.routing.signals import KINDS
from ullage.core.routing.task import Evidence, TaskProfile, analyze_task, explain_complexity


class Row(NamedTuple):
    """A worked example of section 4.4."""

    prompt: str
    kinds: tuple[str, ...]
    complexity: float
    coding: float
    reasoning: float
    tool_use: float
    risk: float
    confidence: float
    output: int


WORKED = [
    Row("", (), 0.1, 0, 0.15, 0, 0, 0.35, 2048),
    Row("Summarize this paragraph in three bullets.", (), 0.1105, 0, 0.15, 0, 0, 0.35, 2048),
    Row("explain this function", ("explain",), 0.10525, 0.4, 0.15, 0, 0, 0.53, 2048),
    Row("Debug this failing test", ("debug", "test"), 0.31575, 0.25, 0.43, 0.45, 0.175, 0.71, 2048),
    Row("修复这个报错", ("debug",), 0.3115, 0, 0.43, 0, 0.175, 0.53, 2048),
    Row("implement quicksort in Rust", ("code-edit",), 0.10675, 0.45, 0.15, 0.25, 0, 0.53, 2048),
    Row("the steps to add a class { }", ("plan", "code-edit"), 0.347, 0.85, 0.39, 0.25, 0, 0.71, 4096),
    Row("write a spec for the deploy step", ("test", "plan", "ops", "generate"), 0.348, 0.25, 0.39, 1.0, 0.5, 0.9, 4096),
    Row(
        "Why does this crash? Traceback (most recent call last): ValueError",
        (), 0.1915, 0, 0.25, 0, 0.0625, 0.45, 2048,
    ),
    Row(
        "Fix this production error and add regression tests. Error: boom at run (app.ts:12:3)",
        ("debug", "ops", "code-edit"), 0.406, 0.45, 0.53, 0.85, 0.7375, 0.99, 2048,
    ),
    Row(
        "Review the architecture, identify trade-offs, then propose a migration plan.",
        ("review", "plan"), 0.764, 0, 0.56, 0, 0, 0.71, 2048,
    ),
    Row(
        "Refactor this module, preserve behavior, and add coverage for the edge cases.",
        ("refactor", "test", "code-edit"), 0.11925, 1.0, 0.15, 0.7, 0, 0.89, 4096,
    ),
    Row(
        "审查这个系统架构，并且给出分阶段迁移方案和取舍。",
        ("review", "plan", "architecture"), 1.0, 0, 0.90, 0, 0, 0.89, 2048,
    ),
    Row("Do not fix the bug, only explain it", ("debug", "explain"), 0.31875, 0, 0.43, 0, 0.175, 0.71, 2048),
    Row("Erkläre mir bitte diesen Fehler", (), 0.10775, 0, 0.15, 0, 0, 0.35, 2048),
    Row("x" * 8000, (), 0.35, 0, 0.15, 0, 0, 0.35, 2048),
]  # fmt: skip


def kinds_of(prompt: str) -> set[str]:
    return set(analyze_task(prompt).kinds) - {"mixed"}


@pytest.mark.parametrize("row", WORKED, ids=lambda row: row.prompt[:30] or "empty")
def test_the_first_analyzer_gives_the_worked_numbers(row: Row) -> None:
    task = analyze_task(row.prompt, analyzer="v1")
    assert set(task.kinds) - {"mixed"} == set(row.kinds)
    assert task.required_output_tokens == row.output
    assert (
        task.complexity, task.demand.coding, task.demand.reasoning, task.demand.tool_use, task.risk, task.confidence,
    ) == pytest.approx(row[2:8], abs=1e-6)  # fmt: skip


@pytest.mark.parametrize("analyzer", ["v1", "v2"])
def test_a_long_prompt_needs_its_own_room_and_a_short_one_at_least_1024_tokens(analyzer: str) -> None:
    assert analyze_task("x" * 8000, analyzer=analyzer).required_context_tokens == 2000  # type: ignore[arg-type]
    assert analyze_task("x", context_tokens=100_000, analyzer=analyzer).required_context_tokens == 101_024  # type: ignore[arg-type]


def test_tool_calls_before_ask_for_tools_and_for_more_care() -> None:
    few, some, many = (
        analyze_task("look at it", evidence=Evidence(tool_calls=calls), analyzer="v1") for calls in (2, 3, 5)
    )
    assert (few.demand.tool_use, some.demand.tool_use) == (0, 0.15)
    assert many.complexity - some.complexity == pytest.approx(0.10)


def test_mixed_stands_alone_or_behind_several_kinds() -> None:
    assert analyze_task("lorem ipsum dolor sit").kinds == ("mixed",)
    assert analyze_task("explain it").kinds == ("explain",)
    assert analyze_task("explain the bug").kinds == ("debug", "explain", "mixed")


def test_pictures_and_context_are_demands() -> None:
    task = analyze_task("what is on it", images=2, context_tokens=64_000)
    assert (task.requires_vision, task.demand.vision, task.demand.context) == (True, 1.0, 0.5)


@pytest.mark.parametrize(
    ("prompt", "kind"),
    [
        ("there are bugs in it", "debug"),
        ("it keeps crashing", "debug"),
        ("run the tests", "test"),
        ("keep testing it", "test"),
        ("look at the architecture", "architecture"),
        ("an architectural question", "architecture"),
        ("name the trade-offs", "architecture"),
        ("name the tradeoffs", "architecture"),
        ("refactoring of the parser", "refactor"),
        ("it was deployed yesterday", "ops"),
        ("the deployment of it", "ops"),
        ("planning of the move", "plan"),
        ("we planned a move", "plan"),
        ("reviewing a change", "review"),
        ("keep modifying it", "code-edit"),
        ("it was created", "generate"),
        ("comparing both", "research"),
        ("eine Laufzeitfehlermeldung", "debug"),
        ("it leaks memory", "debug"),
        ("the button does not work", "debug"),
        ("die Funktion haengt", "debug"),
        ("给出迁移方案", "plan"),
        ("die Systemarchitektur", "architecture"),
    ],
)
def test_words_are_known_in_all_their_forms(prompt: str, kind: str) -> None:
    assert kind in kinds_of(prompt)


@pytest.mark.parametrize(
    "prompt",
    [
        "the latest contest",  # test
        "a planet and an airplane",  # plan
        "a special, specific thing",  # spec
        "an address of a fixture",  # add, fix
        "prefix and suffix",  # fix
        "debugger_test_fixture",  # names are no words
        "open bug.py at once",  # nor are files
        "the creature was exchanged",  # create, change
        "quite a general, generic thing",  # words of other languages
        "andere Dinge mit besonderem Wert",  # ändere
    ],
)
def test_parts_of_words_and_names_tell_nothing(prompt: str) -> None:
    assert kinds_of(prompt) == set()


def test_a_latin_word_is_found_beside_letters_without_spaces() -> None:
    """Complaint C25: a Unicode word boundary hides it."""
    assert kinds_of("帮我debug一下") == {"debug"}
    assert kinds_of("이 bug를 보세요") == {"debug"}
    assert kinds_of("このbugを見て") == {"debug"}


@pytest.mark.parametrize(
    ("prompt", "kinds"),
    [
        ("Do not fix the bug, only explain it", {"explain"}),
        ("Don’t fix the bug. Explain it", {"explain"}),
        ("There is no need to test it, just explain", {"explain"}),
        ("Refactor it without changing the tests", {"refactor"}),
        ("Review it instead of modifying it", {"review"}),
        ("Don't forget to add tests", {"code-edit", "test"}),
        ("Not only fix it but add tests", {"debug", "code-edit", "test"}),
        ("Do not touch the tests and fix the bug", {"debug"}),
        ("Behebe den Fehler nicht, erkläre ihn nur", {"explain"}),
        ("Erkläre es, ohne die Tests zu ändern", {"explain"}),
        ("Der Test läuft nicht mehr durch", {"test"}),
        ("Warum geht der Test nicht?", {"explain", "test"}),
        ("No corrijas el error, solo explícalo", {"explain"}),
        ("Non correggere l'errore, spiegalo soltanto", {"explain"}),
        ("Ne corrige pas l’erreur, explique-la seulement", {"explain"}),
        ("Não corrija o erro, apenas explique", {"explain"}),
        ("Не исправляй ошибку, только объясни её", {"explain"}),
        ("不要修复这个错误，只解释它", {"explain"}),
        ("请解释，别修改代码", {"explain"}),
        ("解释这个级别测试", {"explain", "test"}),
        ("バグを修正しないで、説明だけしてください", {"explain"}),
        ("テストは不要です。説明してください", {"explain"}),
        ("버그를 수정하지 말고 설명해 주세요", {"explain"}),
    ],
)
def test_what_is_not_wanted_adds_no_kind(prompt: str, kinds: set[str]) -> None:
    assert kinds_of(prompt) == kinds


@pytest.mark.parametrize(
    "shown",
    [
        "```\nfix the bug, add tests, deploy\n```",
        "```\nfix the bug, and no end",
        "`fix_bug()` and `deploy`",
        '"fix the bug and deploy it"',
        "“fix the bug”",
        "「バグを修正」",
        "> fix the bug",
        "2026-01-02T10:11:12 deploy failed, fix the bug",
        "[ERROR] deploy failed",
        "TypeError: cannot add\n    at deploy (test.js:3:1)",
        'Traceback (most recent call last):\n  File "test.py", line 3, in deploy',
    ],
)
def test_what_is_only_shown_adds_no_kind(shown: str) -> None:
    assert kinds_of(f"Explain what this means:\n{shown}\n") == {"explain"}


def test_a_trace_in_a_log_is_seen_and_the_mere_word_is_none() -> None:
    log = "Explain:\n```\nTypeError: x\n    at run (app.ts:12:3)\n```"
    assert analyze_task(log).semantic.debugging == 0.25
    assert analyze_task("Explain exception handling").semantic.debugging == 0.7


def test_fences_and_brackets_are_code_and_a_semicolon_in_prose_is_none() -> None:
    assert analyze_task("Look at this:\n```py\nx = 1\n```").demand.coding == 0.4
    assert analyze_task("Look at the class").demand.coding == 0.4
    assert analyze_task("Look at this; let me know").demand.coding == 0.0


def test_a_solution_is_no_plan_and_after_an_hour_is_no_step() -> None:
    assert kinds_of("提出解决方案") == set()
    assert analyze_task("El worker falla después de una hora").demand.instruction_following == 0.3


def test_steps_are_seen_at_the_beginning_of_a_sentence_and_as_a_list() -> None:
    for prompt in (
        "Fix it. Then explain it",
        "1. fix it\n2. explain it",
        "修复它，然后解释",
        "Behebe ihn, danach erkläre",
    ):
        assert analyze_task(prompt).demand.instruction_following == 0.6


@pytest.mark.parametrize("task", [*TASKS, *MORE_TASKS, *REPORTED, *HELD_OUT], ids=lambda task: task["en"][:40])
def test_the_same_task_is_as_complex_in_every_language(task: dict[str, str]) -> None:
    """Complaints C24 and C26. Section 4.5 allows 0.15; this is stricter."""
    complexities = {language: analyze_task(prompt).complexity for language, prompt in task.items()}
    assert max(complexities.values()) - min(complexities.values()) <= 0.1, complexities


def test_the_tasks_cover_every_language_and_kind() -> None:
    languages = {"en", "zh", "ja", "de", "es", "it", "ru"}
    assert len(MORE_TASKS) > len(TASKS) >= 12
    assert len(HELD_OUT) >= 10
    assert all(set(task) == languages for task in (*MORE_TASKS, *REPORTED, *HELD_OUT))
    assert all(set(task) == {*languages, "ko", "fr", "pt"} for task in TASKS)
    assert set.union(*(kinds_of(task["en"]) for task in TASKS)) == set(KINDS)


HARD = analyze_task("Review the architecture, identify trade-offs, then propose a migration plan.")


@pytest.mark.parametrize(
    "prompt",
    [
        "yes", "continue", "ok do it", "继续", "ok continue", "", "go", "Yes, please go ahead with that!", "好的，请继续吧",
        "続けてください", "계속해 주세요", "ja, mach weiter", "sí, adelante por favor", "да, продолжай дальше пожалуйста",
        "vas-y",
    ],
)  # fmt: skip
def test_a_prompt_that_says_nothing_new_goes_on_with_the_task(prompt: str) -> None:
    """Complaints C8 and C11: "yes" after a plan shall not go to the cheapest tier."""
    task = analyze_task(prompt, previous=HARD)
    assert task.kinds == HARD.kinds
    assert task.complexity == pytest.approx(0.9 * HARD.complexity)
    assert task.demand.reasoning == pytest.approx(0.9 * HARD.demand.reasoning)
    assert (task.confidence, task.inherited) == (0.5, 1)


@pytest.mark.parametrize(
    "prompt",
    [
        "yes, implement it",
        "ok, fix it then",
        "好的，实现它",
        "ja, implementiere es",
        "да, реализуй это",
        "はい、実装して",
    ],
)
def test_agreeing_to_a_hard_proposal_is_not_easy(prompt: str) -> None:
    task = analyze_task(prompt, previous=HARD)
    assert task.kinds in {("code-edit",), ("debug",)}
    assert task.complexity == pytest.approx(0.9 * HARD.complexity)
    assert task.complexity == pytest.approx(sum(term.value for term in task.terms))
    assert task.demand.reasoning == pytest.approx(0.9 * HARD.demand.reasoning)


def test_agreeing_lifts_no_harder_task_and_no_long_prompt() -> None:
    easy = analyze_task("explain it")
    assert analyze_task("yes, review the architecture", previous=easy).complexity == pytest.approx(0.617)
    long = "ok, now please rename that one variable in the other file, as we said"
    assert analyze_task(long, previous=HARD).complexity < 0.2


def test_each_step_of_going_on_weighs_less_and_needs_its_own_room() -> None:
    steps = [HARD]
    for number in range(4):
        steps.append(analyze_task("continue", previous=steps[-1], context_tokens=1000 * number))
    assert [task.inherited for task in steps] == [0, 1, 2, 3, 4]
    assert all(after.complexity == pytest.approx(0.9 * before.complexity) for before, after in pairwise(steps))
    assert steps[-1].required_context_tokens == 4024


@pytest.mark.parametrize(
    "prompt",
    [
        "fix it",
        "Rewrite everything from scratch in another way",
        "explain",
        "Error: boom",
        "修复",
        "what about that file",
    ],
)
def test_a_prompt_that_says_something_is_a_task_of_its_own(prompt: str) -> None:
    assert analyze_task(prompt, previous=HARD).inherited == 0


@pytest.mark.parametrize("prompt", ["yes", "hi", "继续", "", "Mach das mal bitte irgendwie anders als sonst"])
def test_no_signal_is_unknown_and_not_simple(prompt: str) -> None:
    """Complaint C7: half of all prompts show no signal."""
    task = analyze_task(prompt)
    assert 0.3 < task.complexity < 0.6
    assert (task.confidence, task.inherited) == (0.35, 0)


def test_what_happened_before_makes_a_task_harder() -> None:
    prompt = "fix the bug"
    plain = analyze_task(prompt)
    for evidence in (
        Evidence(tool_errors=1),
        Evidence(failing_tests=2),
        Evidence(files_touched=3),
        Evidence(changed_lines=300),
        Evidence(grown_tokens=50_000),
        Evidence(tool_calls=5),
    ):
        assert plain.complexity < analyze_task(prompt, evidence=evidence).complexity < plain.complexity + 0.16
    assert analyze_task(prompt, evidence=Evidence(tool_errors=9)).terms[-1].value == 0.15


def test_letters_that_are_tokens_count_as_tokens() -> None:
    """Complaint C27: a quarter of the letters is a third of the tokens."""
    assert analyze_task("漢" * 3000).required_context_tokens == 3000
    assert analyze_task("가" * 3000).required_context_tokens == 3000
    assert analyze_task("漢" * 3000 + "x" * 400).required_context_tokens == 3100


def test_a_complexity_can_be_told_as_its_summands() -> None:
    prompt = "Review this, make a migration plan, then go."
    assert explain_complexity(analyze_task(prompt)) == (
        "complexity 0.76 = base 0.10 + length 0.01 + plan 0.24 + review 0.26 + steps 0.15"
    )


def test_the_weaknesses_of_keywords_are_gone() -> None:
    """Section 33, no. 1: what section 4.4 says of its own rows."""
    english, chinese = HARD, analyze_task("审查这个系统架构，并且给出分阶段迁移方案和取舍。")
    assert (english.kinds, english.complexity) == (chinese.kinds, chinese.complexity)
    assert (
        analyze_task("Refactor this module, preserve behavior, and add coverage for the edge cases.").complexity > 0.3
    )
    german, in_english = (
        analyze_task("Erkläre mir bitte diesen Fehler"),
        analyze_task("Please explain this error to me"),
    )
    assert german.complexity == pytest.approx(in_english.complexity, abs=0.01)


def test_what_is_wanted_is_read_behind_a_long_paste() -> None:
    task = analyze_task("x " * 100_000 + "fix the bug")
    assert task.kinds == ("debug",)
    assert task.required_context_tokens > 50_000


def test_a_profile_can_be_compared() -> None:
    assert isinstance(HARD, TaskProfile)
    assert analyze_task("fix the bug") == analyze_task("fix the bug")


@pytest.mark.parametrize("prompt", ["Debug this failing test \ud800", "\udfff", "修复 \ud83d 测试"])
def test_half_a_letter_in_a_prompt_is_no_fault(prompt: str) -> None:
    """JSON may hold one; clients that cut a text in the middle of an emoji send it."""
    whole = analyze_task(prompt.replace("\ud800", "?").replace("\udfff", "?").replace("\ud83d", "?"))
    assert analyze_task(prompt).kinds == whole.kinds
