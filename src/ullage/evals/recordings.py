"""A recorded session as numbers: what every call sent, what it added, and what the provider reported."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from msgspec import Struct

from ullage.core.accounting import assemble, make_meter, measure_message, measure_system, measure_tool
from ullage.core.calibration import Addition, addition_after
from ullage.core.tokens import get_estimator
from ullage.sources import read_session

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from ullage.core.accounting import Measure, Meter
    from ullage.core.calibration import Trap
    from ullage.core.content import Context, Message, Part
    from ullage.sources import Call, Session, Step

_count_o200k = get_estimator("o200k-base-v1").text

PLANNER_ESTIMATORS = ("chars-v1", "o200k-base-v1")
"""Those of the planner specification, section 6: every slice of a request weighs the same wherever it stands."""

Unscored = Literal["first", "switched", "lossy"]
"""Why no estimate from the last usage is judged: there is no call to start from (`first`: the beginning, and after a compaction),
that call was another model's (`switched`), or a text sent since is no longer in the file (`lossy`)."""


class Identity(Struct, frozen=True, kw_only=True, order=True):
    """Calls that share one static prefix: of one provider and model, on the main chain or in one sub-agent."""

    provider: str
    model: str
    agent: str = ""


class Growing(Struct, frozen=True, kw_only=True):
    """What came to the prompt since the call before. `addition` counts by the model's `wire-v1` meter; `chars` and `o200k` are
    those of the new texts alone, `output` is the answer's as it was logged."""

    addition: Addition
    chars: int
    o200k: int
    output: int


class CallFigures(Struct, frozen=True, kw_only=True):
    """One trusted call. `prompt` is what was reported; `chars` and `o200k` are those of all messages that it sent, `raw` are
    estimates of the whole request as far as the file holds it, by their estimator.

    `lossy` says that some of those are no longer in the file. `growing` is `None` where no call of the same model comes before;
    no estimate from the last usage is judged where `unscored` says why.
    """

    identity: Identity
    dialect: str | None
    prompt: int
    chars: int
    o200k: int
    raw: dict[str, int]
    lossy: bool
    time_ms: int | None
    growing: Growing | None = None
    unscored: Unscored | None = None


class Recording(Struct, frozen=True, kw_only=True):
    """One session file; `calls` are its trusted ones in the order of the file."""

    path: str
    client: str
    handmade: bool
    calls: tuple[CallFigures, ...]


class _Weight(NamedTuple):
    """One message in numbers."""

    chars: int
    o200k: int
    planner: tuple[int, ...]
    measure: Measure
    media: bool


class _Sum(NamedTuple):
    """What the messages of a call add up to; `planner` by each of the planner's estimators."""

    chars: int = 0
    o200k: int = 0
    planner: tuple[int, ...] = (0,) * len(PLANNER_ESTIMATORS)

    def plus(self, weights: Sequence[_Weight]) -> _Sum:
        planner = zip(self.planner, *(weight.planner for weight in weights), strict=True)
        return _Sum(
            chars=self.chars + sum(weight.chars for weight in weights),
            o200k=self.o200k + sum(weight.o200k for weight in weights),
            planner=tuple(map(sum, planner)),
        )


class _Prelude(NamedTuple):
    """System prompt and tools as far as the file holds them, by the planner's estimators and measured for the wire."""

    planner: tuple[int, ...]
    system: list[Measure]
    tools: list[Measure]


def read_recording(path: Path) -> Recording:
    """Reads a session file and weighs every message of it once. Raises `SessionError` if it is none."""
    session = read_session(path)
    reading = _Reading(session)
    steps = {step.after: step for step in session.steps()}
    calls = tuple(reading.figures(call, steps.get(call.index)) for call in session.calls if reading.weigh(call))
    return Recording(path=str(path), client=session.client, handmade=session.handmade, calls=calls)


class _Reading:
    """Goes through the calls in order. Each one's messages are those of the call it goes on from, and some more: only those are
    read and weighed, so that the work is linear in the size of the file."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._added: list[list[_Weight]] = []
        self._sums: list[_Sum] = []
        self._sent: list[list[Measure]] = []
        self._prelude: tuple[Context, str, _Prelude] | None = None
        self._turn_reasoning: dict[int, int] = {}

    def weigh(self, call: Call) -> bool:
        """Weighs what the call added to the one it goes on from; returns whether it is trusted. To be called in order."""
        meter, planner = self._meter(call), self._planner_meters(call)
        start = 0 if call.previous is None else self._session.calls[call.previous].messages
        messages = self._session.messages(call.index, start, call.messages)
        weights = [_weigh(message, meter, planner) for message in messages]
        before = _Sum() if call.previous is None else self._sums[call.previous]
        sent = [] if call.previous is None else self._sent[call.previous]
        self._added.append(weights)
        self._sums.append(before.plus(weights))
        self._sent.append([*sent, *(weight.measure for weight in weights)])
        return call.trusted

    def figures(self, call: Call, step: Step | None) -> CallFigures:
        """A trusted call that has been weighed, with the step that leads to it."""
        assert call.usage is not None
        growing = self._growing(step) if step is not None and not step.switched else None
        return CallFigures(
            identity=_identity(call),
            dialect=call.dialect,
            prompt=call.usage.prompt or 0,
            chars=self._sums[call.index].chars,
            o200k=self._sums[call.index].o200k,
            raw=self._raw(call),
            lossy=call.lossy,
            time_ms=call.time_ms,
            growing=growing,
            unscored=_why_not(step),
        )

    def _raw(self, call: Call) -> dict[str, int]:
        """Estimates of the whole request. That of the wire knows which thinking is not sent again."""
        meter, prelude = self._meter(call), self._measured_prelude(call)
        planner = map(sum, zip(self._sums[call.index].planner, prelude.planner, strict=True))
        wire = assemble(
            meter,
            system=prelude.system,
            tools=prelude.tools,
            messages=self._sent[call.index],
            complete=self._session.prelude(call.index).complete,
        )
        return {**dict(zip(PLANNER_ESTIMATORS, planner, strict=True)), meter.estimator: wire.total.tokens}

    def _measured_prelude(self, call: Call) -> _Prelude:
        """Measured anew only when it or the model changes."""
        prelude, meter = self._session.prelude(call.index), self._meter(call)
        if self._prelude is None or self._prelude[0] is not prelude or self._prelude[1] != meter.key:
            self._prelude = prelude, meter.key, _measure_prelude(prelude, meter, self._planner_meters(call))
        return self._prelude[2]

    def _growing(self, step: Step) -> Growing:
        before = self._session.calls[step.before]
        assert before.usage is not None
        between = self._between(step)
        reply = [weight for index, weight in between if index in step.reply]
        new = [weight for index, weight in between if index not in step.reply]
        addition = addition_after(
            before.usage,
            reply=[weight.measure for weight in reply],
            new=[weight.measure for weight in new],
            turn_reasoning=self._turn_reasoning.get(step.before, 0),
            short_output=before.output_unsure,
            trap=self._trap(step, new),
        )
        self._turn_reasoning[step.after] = 0 if addition.ends_turn else addition.turn_reasoning
        return Growing(
            addition=addition,
            chars=sum(weight.chars for weight in new),
            o200k=sum(weight.o200k for weight in new),
            output=before.usage.output or 0,
        )

    def _between(self, step: Step) -> list[tuple[int, _Weight]]:
        """The messages of a step with their indexes: those of the calls from its second one back to its first."""
        parts: list[list[_Weight]] = []
        index: int | None = step.after
        while index is not None and index != step.before:
            parts.append(self._added[index])
            index = self._session.calls[index].previous
        weights = [weight for part in reversed(parts) for weight in part]
        return list(enumerate(weights, step.start))

    def _trap(self, step: Step, new: Sequence[_Weight]) -> Trap | None:
        if self._session.calls[step.after].previous != step.before:
            return "broken_off"
        if step.lossy:
            return "lossy"
        return "media" if any(weight.media for weight in new) else None

    def _meter(self, call: Call, estimator: str = "wire-v1") -> Meter:
        return make_meter(
            dialect=call.dialect,
            provider=call.provider,
            model=call.model,
            client=self._session.client,
            estimator=estimator,
        )

    def _planner_meters(self, call: Call) -> list[Meter]:
        return [self._meter(call, estimator) for estimator in PLANNER_ESTIMATORS]


def _measure_prelude(prelude: Context, meter: Meter, planner: Sequence[Meter]) -> _Prelude:
    return _Prelude(
        planner=tuple(
            sum(_tokens(measure_system(text, one)) for text in prelude.system)
            + sum(_tokens(measure_tool(tool, one)) for tool in prelude.tools)
            for one in planner
        ),
        system=[measure_system(text, meter) for text in prelude.system],
        tools=[measure_tool(tool, meter) for tool in prelude.tools],
    )


def _tokens(measure: Measure) -> int:
    """All of a slice, frames included."""
    return measure.frame + sum(entry.tokens for entry in measure.entries)


def _weigh(message: Message, meter: Meter, planner: Sequence[Meter]) -> _Weight:
    parts = [part for top in message.parts for part in _walk(top)]
    texts = [text for part in parts for text in (part.text, part.name if part.kind == "tool_call" else None) if text]
    return _Weight(
        chars=sum(map(len, texts)),
        o200k=sum(map(_count_o200k, texts)),
        planner=tuple(_tokens(measure_message(message, one)) for one in planner),
        measure=measure_message(message, meter),
        media=any(part.media is not None for part in parts),
    )


def _walk(part: Part) -> Iterator[Part]:
    yield part
    for inner in part.parts:
        yield from _walk(inner)


def _identity(call: Call) -> Identity:
    agent = (call.agent or "side chain") if call.sidechain else ""
    return Identity(provider=call.provider or "", model=call.model or "", agent=agent)


def _why_not(step: Step | None) -> Unscored | None:
    if step is None:
        return "first"
    if step.switched:
        return "switched"
    return "lossy" if step.lossy else None
