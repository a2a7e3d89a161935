"""What a prompt asks of a model, weighed from its signals (routing specification, sections 1 and 4)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from msgspec import Struct, structs

from .signals import MIXED, Signals
from .signals_v1 import read_signals_v1
from .signals_v2 import read_signals_v2

if TYPE_CHECKING:
    from collections.abc import Sequence

Analyzer = Literal["v1", "v2"]

_CONTEXT_SCALE_TOKENS = 128_000
_LEAST_CONTEXT_TOKENS = 1024
_SHORT_OUTPUT_TOKENS, _LONG_OUTPUT_TOKENS = 2048, 4096
_LETTERS_A_TOKEN = 4
_LETTERS_SCALE, _MOST_LENGTH = 4000, 0.25
_UNKNOWN = 0.20
"""What a complexity gains where a prompt shows nothing, so that it is neither simple nor hard (section 4.5, no. 4)."""
_REFACTOR = 0.20
_OPERATIONS = 0.08
_DECAY = 0.9
_MOST_INHERITED_CONFIDENCE = 0.5


class Demand(Struct, frozen=True, kw_only=True):
    """How much a task asks of each ability of a model, 0 to 1."""

    coding: float
    reasoning: float
    tool_use: float
    instruction_following: float
    context: float
    vision: float


class Semantic(Struct, frozen=True, kw_only=True):
    """How much of a task is work of each sort, 0 to 1."""

    debugging: float
    planning: float
    architecture: float
    review: float
    generation: float
    explanation: float


class Evidence(Struct, frozen=True, kw_only=True):
    """What is known beside the prompt, of the calls before: counts, and tokens by which the context grew (section 4.5, no. 5)."""

    tool_calls: int = 0
    tool_errors: int = 0
    failing_tests: int = 0
    files_touched: int = 0
    changed_lines: int = 0
    grown_tokens: int = 0


class Term(Struct, frozen=True):
    """One summand of a complexity, and what it is for."""

    name: str
    value: float


class TaskProfile(Struct, frozen=True, kw_only=True):
    """What a task asks for. Figures are 0 to 1; context and output are tokens of the local estimate.

    `terms` sum to `complexity` before it is cut to 1. `inherited` counts the prompts since the one that this profile was read
    from, where they said no more than "go on".
    """

    kinds: tuple[str, ...]
    complexity: float
    demand: Demand
    semantic: Semantic
    risk: float
    latency_sensitivity: float
    cost_sensitivity: float
    confidence: float
    requires_vision: bool
    required_context_tokens: int
    required_output_tokens: int
    minimum_tier: str | None = None
    terms: tuple[Term, ...] = ()
    inherited: int = 0


_NO_EVIDENCE = Evidence()


def analyze_task(
    prompt: str,
    *,
    context_tokens: int = 0,
    images: int = 0,
    previous: TaskProfile | None = None,
    evidence: Evidence = _NO_EVIDENCE,
    analyzer: Analyzer = "v2",
) -> TaskProfile:
    """What a prompt asks for. A prompt that says no more than "go on" asks for what the previous one did, and
    one that agrees to it ("yes, implement it") is no easier.

    `context_tokens` are those before the prompt, `images` those of the prompt. The analyzer `v1` is that of the described system:
    it knows English and Chinese words, no previous task, and of the evidence only the tool calls.
    """
    if analyzer == "v1":
        evidence = Evidence(tool_calls=evidence.tool_calls)
        return _weigh(read_signals_v1(prompt), context_tokens, images, evidence, repaired=False)
    signals = read_signals_v2(prompt)
    own = _weigh(signals, context_tokens, images, evidence, repaired=True)
    if previous is None:
        return own
    if signals.agrees:
        return _keep_up(previous, own)
    return _inherit(previous, own) if signals.goes_on else own


def explain_complexity(task: TaskProfile) -> str:
    """A complexity and its summands, for people: `complexity 0.76 = base 0.10 + length 0.02 + …`."""
    return f"complexity {task.complexity:.2f} = " + " + ".join(f"{term.name} {term.value:.2f}" for term in task.terms)


def _weigh(signals: Signals, context_tokens: int, images: int, evidence: Evidence, *, repaired: bool) -> TaskProfile:
    kinds = frozenset(signals.kinds)
    semantic = _semantic(kinds, trace=signals.trace)
    coding = _clamp(
        0.40 * signals.code + 0.45 * ("code-edit" in kinds) + 0.35 * ("refactor" in kinds) + 0.25 * ("test" in kinds)
    )
    terms = [*_terms(signals, semantic, evidence), *(_repairs(signals, evidence) if repaired else ())]
    tokens = -(-signals.letters // _LETTERS_A_TOKEN)
    return TaskProfile(
        kinds=_named(signals.kinds),
        complexity=_sum(terms),
        demand=Demand(
            coding=coding,
            reasoning=_clamp(
                0.15
                + 0.40 * semantic.debugging
                + 0.30 * semantic.planning
                + 0.40 * semantic.architecture
                + 0.20 * semantic.review
            ),
            tool_use=_clamp(
                0.60 * ("ops" in kinds)
                + 0.45 * ("test" in kinds)
                + 0.25 * ("code-edit" in kinds)
                + 0.15 * (evidence.tool_calls > 2)
            ),
            instruction_following=0.30 + 0.30 * signals.steps,
            context=_clamp(context_tokens / _CONTEXT_SCALE_TOKENS),
            vision=float(images > 0),
        ),
        semantic=semantic,
        risk=_clamp(0.50 * ("ops" in kinds) + 0.25 * semantic.debugging),
        latency_sensitivity=0.7 if "ops" in kinds else 0.4,
        cost_sensitivity=0.6 if "research" in kinds else 0.4,
        confidence=_clamp(0.35 + min(0.18 * len(signals.kinds), 0.55) + 0.10 * signals.trace),
        requires_vision=images > 0,
        required_context_tokens=context_tokens + max(tokens, _LEAST_CONTEXT_TOKENS),
        required_output_tokens=_LONG_OUTPUT_TOKENS if "generate" in kinds or coding > 0.5 else _SHORT_OUTPUT_TOKENS,
        terms=tuple(term for term in terms if term.value),
    )


def _semantic(kinds: frozenset[str], *, trace: bool) -> Semantic:
    return Semantic(
        debugging=_clamp(0.70 * ("debug" in kinds) + 0.25 * trace),
        planning=0.80 * ("plan" in kinds),
        architecture=0.85 * ("architecture" in kinds),
        review=0.85 * ("review" in kinds),
        generation=_clamp(0.65 * ("generate" in kinds) + 0.25 * ("code-edit" in kinds)),
        explanation=0.85 * ("explain" in kinds),
    )


def _terms(signals: Signals, semantic: Semantic, evidence: Evidence) -> list[Term]:
    """The summands of section 4.3."""
    return [
        Term("base", 0.10),
        Term("length", min(signals.letters / _LETTERS_SCALE, _MOST_LENGTH)),
        Term("debug", 0.30 * semantic.debugging),
        Term("plan", 0.30 * semantic.planning),
        Term("architecture", 0.30 * semantic.architecture),
        Term("review", 0.30 * semantic.review),
        Term("steps", 0.15 * signals.steps),
        Term("tool calls", 0.10 * (evidence.tool_calls > 4)),
    ]


def _repairs(signals: Signals, evidence: Evidence) -> list[Term]:
    """The summands that `v2` adds: work that section 4.4 shows underrated, what is not known, and evidence beside the prompt."""
    failures = evidence.tool_errors + evidence.failing_tests
    return [
        Term("refactor", _REFACTOR * ("refactor" in signals.kinds)),
        Term("operations", _OPERATIONS * ("ops" in signals.kinds)),
        Term("unknown", _UNKNOWN * (not signals.kinds and not signals.trace)),
        Term("failures", min(0.05 * failures, 0.15)),
        Term("changes", min(evidence.files_touched / 40 + evidence.changed_lines / 4000, 0.15)),
        Term("context growth", min(evidence.grown_tokens / 1_000_000, 0.10)),
    ]


def _inherit(previous: TaskProfile, own: TaskProfile) -> TaskProfile:
    """The previous task, a step weaker, with the room that this prompt takes (section 4.5, no. 4)."""
    demand, semantic = previous.demand, previous.semantic
    complexity = _DECAY * previous.complexity
    return structs.replace(
        own,
        kinds=previous.kinds,
        complexity=complexity,
        demand=Demand(
            coding=_DECAY * demand.coding,
            reasoning=_DECAY * demand.reasoning,
            tool_use=_DECAY * demand.tool_use,
            instruction_following=_DECAY * demand.instruction_following,
            context=own.demand.context,
            vision=own.demand.vision,
        ),
        semantic=Semantic(
            debugging=_DECAY * semantic.debugging,
            planning=_DECAY * semantic.planning,
            architecture=_DECAY * semantic.architecture,
            review=_DECAY * semantic.review,
            generation=_DECAY * semantic.generation,
            explanation=_DECAY * semantic.explanation,
        ),
        risk=_DECAY * previous.risk,
        latency_sensitivity=previous.latency_sensitivity,
        cost_sensitivity=previous.cost_sensitivity,
        confidence=min(previous.confidence, _MOST_INHERITED_CONFIDENCE),
        required_output_tokens=previous.required_output_tokens,
        terms=(Term("the task before", complexity),),
        inherited=previous.inherited + 1,
    )


def _keep_up(previous: TaskProfile, own: TaskProfile) -> TaskProfile:
    """A task that carries out what was proposed: no easier than going on with the previous one would be (complaint C8)."""
    rest = max(_DECAY * previous.complexity - own.complexity, 0.0)
    if not rest:
        return own
    return structs.replace(
        own,
        complexity=own.complexity + rest,
        demand=structs.replace(own.demand, reasoning=max(own.demand.reasoning, _DECAY * previous.demand.reasoning)),
        terms=(*own.terms, Term("the task before", rest)),
    )


def _named(kinds: tuple[str, ...]) -> tuple[str, ...]:
    return kinds if len(kinds) == 1 else (*kinds, MIXED)


def _sum(terms: Sequence[Term]) -> float:
    return _clamp(sum(term.value for term in terms))


def _clamp(value: float) -> float:
    return min(max(value, 0.0), 1.0)
