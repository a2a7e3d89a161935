"""The prefix probe: sections of a captured request measured by tiny generations, where no endpoint counts.

Each case of the isolation is sent once with its answer capped, and the prompt that the upstream reports is its count; what it
answers is never looked at (accounting specification, sections 15.2 and 16.2). Calls, tokens and characters have hard limits that
are known before anything is sent. Calls go one after another: after each, what it really used is set against the limit.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec import Struct

from ullage.core.accounting.isolation import BASELINE, FULL, IsolationPlan, plan_isolation
from ullage.core.accounting.plausibility import Bounds
from ullage.core.errors import CallError, UpstreamError
from ullage.core.wire import parse_request, read_answer, render
from ullage.upstream.asking import ask
from ullage.upstream.tiny import Tiny, tiny_request

from .exact import case_bounds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ullage.core.accounting.isolation import Case
    from ullage.core.content import Answer
    from ullage.core.wire import Conversation
    from ullage.upstream import UpstreamClient
    from ullage.upstream.asking import Target

# An answer longer than this in spite of its cap is a model's that thinks unasked: one produced 38,918 tokens (section 15.2).
# Servers that ignore the cap say a sentence or two; every call is planned with this much output.
RUNAWAY_TOKENS = 256

# What may follow an asked-for name in the name of the model that answers: a date or a serial number.
_VERSION = re.compile(r"[-@:](?:\d{8}|\d{4}-\d{2}-\d{2}|\d{2}-\d{4}|\d{3,4})$")


class Limits(Struct, frozen=True, kw_only=True):
    """The most that a probe may spend. `tokens` are prompt and output together, `chars` code points of the bodies sent."""

    calls: int
    tokens: int
    chars: int


class Planned(Struct, frozen=True, kw_only=True):
    """One call of the probe.

    `tokens` is the most it is expected to cost by our estimate: the prompt, and `RUNAWAY_TOKENS` of output as if the upstream
    ignored the cap. A longer answer ends the probe.
    """

    case: str
    tiny: Tiny
    plain: Tiny
    chars: int
    tokens: int
    bounds: Bounds


class Skipped(Struct, frozen=True, kw_only=True):
    """A case without a result, and why."""

    case: str
    reason: str


class ProbePlan(Struct, frozen=True, kw_only=True):
    """What a probe will send. `calls`, `tokens` and `chars` are the most, a repeated first call included."""

    isolation: IsolationPlan
    limits: Limits
    planned: tuple[Planned, ...]
    skipped: tuple[Skipped, ...]
    spare: Planned | None

    @property
    def calls(self) -> int:
        return len(self._all)

    @property
    def tokens(self) -> int:
        return sum(call.tokens for call in self._all)

    @property
    def chars(self) -> int:
        return sum(call.chars for call in self._all)

    @property
    def _all(self) -> list[Planned]:
        return [*self.planned, *([self.spare] if self.spare is not None else [])]


class ProbeResult(Struct, kw_only=True):
    """What came back: prompt sizes by case, and what was spent.

    `charged_tokens` is what was held against the limit: what was reported, and our estimate of a call whose usage is missing.
    `stopped` says why calls are missing, if any are, or that no section was measured.
    """

    prompts: dict[str, int] = {}
    skipped: list[Skipped] = []
    answered_by: str | None = None
    calls: int = 0
    chars: int = 0
    prompt_tokens: int = 0
    output_tokens: int = 0
    charged_tokens: int = 0
    stopped: str | None = None


class _Stop(Exception):  # noqa: N818 - no error: the rest of the probe is given up, what is measured stays
    """Nothing more is sent."""


def plan_probe(
    conversation: Conversation, model: str, limits: Limits, estimate: Callable[[Conversation], int]
) -> ProbePlan:
    """The calls that fit into the limits: baseline, system prompt, all tools, then each tool (all or none), then the whole.

    `estimate` is the most tokens that a conversation is expected to have. Raises `CallError` (`limits_too_low`) if not even one
    section fits beside the baseline.
    """
    isolation = plan_isolation(conversation)
    planned: list[Planned] = []
    skipped: list[Skipped] = []
    for group in _groups(isolation.cases):
        calls = [_planned(conversation, case, model, estimate) for case in group]
        reason = _over(limits, [*planned, *calls])
        if reason is None:
            planned += calls
        else:
            skipped += [Skipped(case=call.case, reason=reason) for call in calls]
    if len(planned) < 2 or planned[0].case != BASELINE:
        raise CallError(
            f"The limits leave no room for a section beside the baseline: {skipped[0].reason}."
            if skipped
            else "The request has no section to measure beside its messages.",
            hint="Raise --max-calls, --max-tokens or --max-chars." if skipped else "Give a request with more in it.",
            code="limits_too_low",
        )
    # The first call may be refused for what switches thinking off; it is then made once more, plain.
    spare = planned[0] if _over(limits, [*planned, planned[0]]) is None else None
    return ProbePlan(isolation=isolation, limits=limits, planned=tuple(planned), skipped=tuple(skipped), spare=spare)


async def run_probe(
    plan: ProbePlan,
    *,
    client: UpstreamClient,
    target: Target,
    model: str,
    progress: Callable[[], None] = lambda: None,
) -> ProbeResult:
    """Sends the planned calls. Raises `UpstreamError` if the first fails; later faults end or shorten the probe."""
    run = _Run(plan, client, target, model)
    try:
        for call in plan.planned:
            await run.measure(call)
            progress()
    except _Stop as stop:
        run.result.stopped = str(stop)
    done = {*run.result.prompts, *(skipped.case for skipped in run.result.skipped)}
    run.result.skipped += [
        Skipped(case=call.case, reason="not sent any more") for call in plan.planned if call.case not in done
    ]
    if run.result.stopped is None and not _sections(plan) & set(run.result.prompts):
        run.result.stopped = "no section was measured"
    return run.result


class _Run:
    """One probe under way."""

    def __init__(self, plan: ProbePlan, client: UpstreamClient, target: Target, model: str) -> None:
        self._plan = plan
        self._client = client
        self._target = target
        self._model = model
        self._plain = False
        self.result = ProbeResult(prompts={}, skipped=list(plan.skipped))

    async def measure(self, call: Planned) -> None:
        """Sends one call and takes its prompt, or says why not. Raises `_Stop` when no further one may follow."""
        try:
            answer = await self._answer(call)
        except UpstreamError as error:
            if not self.result.prompts:
                raise
            if error.code != "upstream_rejected":
                raise _Stop(error.message) from error
            self._skip(call, error.message)
            return
        self._take(call, answer)

    async def _answer(self, call: Planned) -> Answer:
        try:
            return await self._send(call, call.plain if self._plain else call.tiny)
        except UpstreamError as error:
            if self.result.prompts or error.code != "upstream_rejected" or self._plan.spare is None or self._plain:
                raise
            self._plain = True
            return await self._send(call, call.plain)

    async def _send(self, call: Planned, tiny: Tiny) -> Answer:
        spent = self.result.charged_tokens
        if spent + call.tokens > self._plan.limits.tokens:
            raise _Stop(f"the limit of {self._plan.limits.tokens:,} tokens is reached: {spent:,} are spent")
        self.result.calls += 1
        self.result.chars += call.chars
        body = await ask(self._client, self._target, tiny.path, tiny.body)
        return read_answer(body, self._target.dialect)

    def _take(self, call: Planned, answer: Answer) -> None:
        usage = answer.usage
        prompt = usage.prompt if usage is not None else None
        output = usage.output if usage is not None else None
        self._charge(call, prompt, output)
        self._check(call, answer, prompt)
        if output is not None and output > RUNAWAY_TOKENS:
            raise _Stop(f"the model answers with {output:,} tokens in spite of the cap: it thinks unasked")
        if self.result.charged_tokens > self._plan.tokens:
            raise _Stop(
                f"{self.result.charged_tokens:,} tokens are spent, {self._plan.tokens:,} were planned for all calls"
            )

    def _charge(self, call: Planned, prompt: int | None, output: int | None) -> None:
        """What is not reported may have been paid for all the same."""
        reported = (prompt or 0) + (output or 0)
        self.result.prompt_tokens += prompt or 0
        self.result.output_tokens += output or 0
        self.result.charged_tokens += max(reported, call.tokens) if prompt is None or output is None else reported

    def _check(self, call: Planned, answer: Answer, prompt: int | None) -> None:
        """Takes the prompt if it can be believed and the right model reports it.

        Raises `UpstreamError` for the first call, and `_Stop` where the next answers would be of no more use.
        """
        useless = self._useless(answer, prompt)
        reason = useless or self._objection(call, prompt or 0)
        if reason is None and prompt is not None:
            self.result.prompts[call.case] = prompt
            self.result.answered_by = self.result.answered_by or answer.model
        elif call.case == BASELINE:
            raise UpstreamError(
                f"{self._target.host} cannot be measured: {reason}.",
                hint="Name the model by the very name that answers.",
                code="probe_discarded",
            )
        else:
            self._skip(call, str(reason))
        if useless is not None:
            raise _Stop(useless)

    def _useless(self, answer: Answer, prompt: int | None) -> str | None:
        """Why this upstream can measure nothing more."""
        if not is_model(answer.model, self._model):
            return f"asked for {self._model}, but {answer.model or 'a model that gives no name'} answered"
        if self.result.answered_by not in (None, answer.model):
            return f"{answer.model} answered, but {self.result.answered_by} the calls before"
        return "it reports no usage" if prompt is None else None

    def _objection(self, call: Planned, prompt: int) -> str | None:
        """Why this prompt cannot be true. The whole request may be as short as the baseline, no section can."""
        refusal = call.bounds.refusal(prompt)
        prompts = self.result.prompts
        if refusal is not None or not prompts:
            return refusal
        if prompt < prompts[BASELINE] or (prompt == prompts[BASELINE] and call.case != FULL):
            return "below the baseline"
        if call.case == FULL and prompt < max(prompts.values()):
            return "below its largest part"
        return None

    def _skip(self, call: Planned, reason: str) -> None:
        self.result.skipped.append(Skipped(case=call.case, reason=reason))


def is_model(answered: str | None, asked: str) -> bool:
    """Whether the model that answered is the one asked for, perhaps with its version: `gpt-5.5-2026-03-01` answers for `gpt-5.5`.

    A host may put the vendor before the name, or leave it out; a name that ends in `-latest` stands for any version.
    """
    if answered is None:
        return False
    said, wanted = _bare(answered), _bare(asked)
    return said == wanted or _VERSION.sub("", said) == wanted.removesuffix("-latest")


def _bare(model: str) -> str:
    return model.lower().rpartition("/")[2]


def _sections(plan: ProbePlan) -> set[str]:
    """The cases that make a result: the whole request only where it has no sections."""
    return ({case.id for case in plan.isolation.cases} - {BASELINE, FULL}) or {FULL}


def _groups(cases: Sequence[Case]) -> Iterator[list[Case]]:
    """The cases in the order of their worth; single tools together, since their block is known from all of them only."""
    tools = [case for case in cases if case.id.startswith("tool:")]
    for case in cases:
        if case not in tools:
            if not case.minimal and tools:
                yield tools
            yield [case]


def _planned(conversation: Conversation, case: Case, model: str, estimate: Callable[[Conversation], int]) -> Planned:
    body = render(conversation, messages=case.messages, tools=case.tools, system=case.system)
    tiny = tiny_request(conversation, case, model)
    plain = tiny_request(conversation, case, model, plain=True)
    return Planned(
        case=case.id,
        tiny=tiny,
        plain=plain,
        chars=max(len(request.body.decode("utf-8", "replace")) for request in (tiny, plain)),
        tokens=estimate(parse_request(body, conversation.dialect)) + RUNAWAY_TOKENS,
        bounds=case_bounds(conversation, case),
    )


def _over(limits: Limits, calls: Sequence[Planned]) -> str | None:
    """Which limit these calls exceed; `None` if they fit."""
    spent = {
        "calls": (len(calls), limits.calls),
        "tokens": (sum(call.tokens for call in calls), limits.tokens),
        "characters": (sum(call.chars for call in calls), limits.chars),
    }
    for name, (needed, limit) in spent.items():
        if needed > limit:
            return f"{needed:,} {name} would be needed, {limit:,} are allowed"
    return None
