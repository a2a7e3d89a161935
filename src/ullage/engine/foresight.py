"""Each call as it is seen before it is sent: what limits hold, what its prompt is taken to be; and what it then taught."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct, structs

from ullage.core.accounting import make_meter
from ullage.core.calibration import refuse, round_ratio
from ullage.core.planning import Awareness, become_aware, report_awareness
from ullage.core.profiles import narrow_profile
from ullage.stores import SampleRecord

from .facts import TwoGenerations
from .kinds import CONVERSATION
from .switches import Switch, Switches

if TYPE_CHECKING:
    from ullage.core.accounting import Meter
    from ullage.core.calibration import Pair, Refusal
    from ullage.core.content import Answer, Usage
    from ullage.core.planning import Anchored, Policy
    from ullage.core.profiles import ModelProfile

    from .exchange import Exchange
    from .knowledge import Knowledge
    from .observation import Observation

# Answers remembered, so that one that comes again makes no second sample.
_ANSWERS = 10_000

_KEPT_TO = "what the client keeps to"

_AnswerKey = tuple[str, str, int, int | None]
"""Target, id, prompt and output of an answer. The id alone would not do: Ollama draws it from 999 numbers."""


class Sight(Struct, frozen=True, kw_only=True):
    """What was known of a call before it was answered. `estimated` are raw tokens of the whole prompt by `estimator`."""

    awareness: Awareness
    estimator: str
    estimated: int
    switch: Switch | None


class Foresight:
    """Draws limits for calls and learns from their usage. Used by one thread only."""

    def __init__(self, knowledge: Knowledge, policy: Policy) -> None:
        self.switches = Switches()
        self._knowledge = knowledge
        self._policy = policy
        self._counted: TwoGenerations[_AnswerKey, bool] = TwoGenerations(_ANSWERS)

    def active_meter(self, meter: Meter) -> Meter:
        """What limits are drawn in, as the profile says: the account's own meter under `growth-v1`."""
        estimator = self._profile(meter).token_estimator
        if estimator == meter.estimator:
            return meter
        return make_meter(
            dialect=meter.dialect,
            provider=meter.provider,
            model=meter.model,
            client=meter.client,
            estimator=estimator,
        )

    def look_ahead(
        self,
        observation: Observation,
        exchange: Exchange,
        *,
        estimated: int,
        active: Meter,
        anchored: Anchored | None,
        requested_output: int | None = None,
    ) -> Sight | None:
        """What holds for a call, in tokens of the `active` meter; `None` for one that names no model. `estimated` is what that
        makes of the request, `anchored` what the session's last usage says, `requested_output` the tokens that its answer may
        have."""
        meter, now_ms = observation.meter, exchange.created_ms
        if meter is None or not meter.model:
            return None
        profile = self._profile(meter)
        profile = narrow_profile(profile, exchange.windows.get(profile.key), _KEPT_TO)
        samples = self._knowledge.samples((profile.provider, profile.model, active.estimator), now_ms)
        awareness = become_aware(
            profile,
            samples,
            self._policy,
            estimator=active.estimator,
            now_ms=now_ms,
            anchored=anchored,
            requested_output=requested_output,
        )
        return Sight(
            awareness=awareness,
            estimator=active.estimator,
            estimated=estimated,
            switch=self._switch(observation, profile.key),
        )

    def to_provider_tokens(
        self, meter: Meter, active: Meter, local: int, now_ms: int, *, anchored: Anchored | None
    ) -> int:
        """What the provider is likely to count where the `active` meter counts `local` tokens."""
        profile = self._profile(meter)
        samples = self._knowledge.samples((profile.provider, profile.model, active.estimator), now_ms)
        aware = become_aware(
            profile, samples, self._policy, estimator=active.estimator, now_ms=now_ms, anchored=anchored
        )
        return max(0, round(aware.conversion.offset + aware.conversion.slope * local))

    def refuse(self, observation: Observation, answer: Answer | None, *, outcome: str) -> Refusal | None:
        """Why a call that is over can teach nothing; `None` if it can."""
        sight = observation.sight
        if sight is None:
            return "no_estimate"
        return refuse(
            outcome=outcome,
            stop_reason=answer.stop_reason if answer is not None else None,
            usage=answer.usage if answer is not None else None,
            estimated=sight.estimated,
            helper=observation.caller.kind not in CONVERSATION,
            counted=self._was_counted(sight, answer),
            window=sight.awareness.profile.context_window,
        )

    def settle(
        self,
        observation: Observation,
        exchange: Exchange,
        answer: Answer | None,
        *,
        refused: Refusal | None,
        pair: Pair | None,
    ) -> dict[str, Any] | None:
        """Learns from a call that is over, unless it was `refused`; what its record says of that. `pair` is what the call proves
        about growth."""
        sight, meter = observation.sight, observation.meter
        if sight is None or meter is None:
            return None
        if refused is not None:
            return {"refused": refused}
        usage = answer.usage if answer is not None else None
        assert usage is not None and usage.prompt, "else it would have been refused"
        self._note_counted(sight, answer)
        weighed = observation.weights.total if observation.weights is not None else 0
        estimates = {meter.estimator: weighed, sight.estimator: sight.estimated}
        for estimator, tokens in estimates.items():
            if tokens:
                kept = pair if estimator == meter.estimator else None
                record = _sample_record(observation, exchange, usage, estimator, tokens, kept)
                self._knowledge.add(record, exchange.created_ms)
        return {
            "estimator": sight.estimator,
            "estimated": sight.estimated,
            "actual": usage.prompt,
            "ratio": round_ratio(usage.prompt / sight.estimated),
            "accepted": True,
        }

    def _profile(self, meter: Meter) -> ModelProfile:
        return self._knowledge.profile(meter.provider or "", meter.model or "", meter.dialect)

    def _switch(self, observation: Observation, target: str) -> Switch | None:
        if not observation.session or observation.caller.kind not in CONVERSATION:
            return None
        return self.switches.note(observation.session, target)

    def _was_counted(self, sight: Sight, answer: Answer | None) -> bool:
        key = _answer_key(sight, answer)
        return key is not None and self._counted.find(key) is not None

    def _note_counted(self, sight: Sight, answer: Answer | None) -> None:
        key = _answer_key(sight, answer)
        if key is not None:
            self._counted.keep(key, True)


def _answer_key(sight: Sight, answer: Answer | None) -> _AnswerKey | None:
    """What tells an answer from all others; `None` where it has no id or nothing to count."""
    usage = answer.usage if answer is not None else None
    if answer is None or not answer.response_id or usage is None or usage.prompt is None:
        return None
    return sight.awareness.profile.key, answer.response_id, usage.prompt, usage.output


def report_sight(sight: Sight) -> dict[str, Any]:
    """The `awareness` of a call's record."""
    switch = structs.asdict(sight.switch) if sight.switch is not None else None
    return report_awareness(sight.awareness, switch=switch)


def _sample_record(
    observation: Observation, exchange: Exchange, usage: Usage, estimator: str, tokens: int, pair: Pair | None
) -> SampleRecord:
    sight, meter = observation.sight, observation.meter
    assert sight is not None and meter is not None
    return SampleRecord(
        id=exchange.id,
        created_ms=exchange.created_ms,
        provider=sight.awareness.profile.provider,
        model=sight.awareness.profile.model,
        estimator=estimator,
        client=meter.client or "",
        session=observation.session,
        estimated=tokens,
        input_fresh=usage.input_fresh or 0,
        cache_read=usage.cache_read or 0,
        cache_write=usage.cache_write or 0,
        output=usage.output,
        window=sight.awareness.profile.context_window,
        pair=structs.asdict(pair) if pair is not None else None,
    )
