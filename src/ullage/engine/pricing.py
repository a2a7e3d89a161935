"""What a call may cost before it is sent, and what it did cost (routing specification, sections 17.3 and 17.4)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from ullage.core.privacy.hosts import is_loopback
from ullage.core.profiles.cache_rules import find_cache_rule
from ullage.core.routing.turn import read_turn
from ullage.core.spend import Spend
from ullage.core.spend.worst import likely_most, output_allowance, worst_cost
from ullage.core.wire.output import requested_output

from .classifying import OUTPUT_TOKENS
from .costing import cost_of_usage
from .kinds import CONVERSATION
from .passing import read_wanted

if TYPE_CHECKING:
    from ullage.core.content import Usage
    from ullage.core.profiles import ModelProfile, Prices
    from ullage.core.routing.filtering import Candidate
    from ullage.core.wire import Conversation

    from .classifying import Question
    from .exchange import Exchange
    from .observation import Observation
    from .reading import Reader

_CHARS_A_TOKEN = 3
_HOUR_MARK = b'"1h"'
"""How a request asks Anthropic to hold its prompt for an hour, which costs more to write."""


class Pricing:
    """Prices calls as they pass. Used by one thread only, the reader's."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def expect(
        self,
        observation: Observation,
        exchange: Exchange,
        sent: Conversation | None,
        *,
        body: bytes,
        estimate: int | None,
    ) -> Spend:
        """A call before it is sent, at the most that it may cost: `sent` as it leaves, `None` where it could not be read, with
        the `body` that is sent and the tokens of its prompt, where those are known."""
        profile = self._profile(observation, exchange)
        if estimate is None:
            estimate = -(-len(body) // _CHARS_A_TOKEN)
            if sent is not None:
                estimate = self._reader.estimate(observation, exchange, sent, profile.key)
        input_tokens = likely_most(estimate)
        worst = worst_cost(
            self._prices(observation, profile),
            find_cache_rule(exchange.provider, observation.model),
            input_tokens=input_tokens,
            output_tokens=output_allowance(
                requested_output(sent) if sent is not None else None, profile.max_output_tokens
            ),
            long=_HOUR_MARK in body,
        )
        return self._spend(
            observation,
            exchange,
            at_ms=exchange.now_ms(),
            estimate=0 if worst is None and _is_here(exchange.root) else worst,
            input_tokens=input_tokens,
            task=self._task(observation, sent),
        )

    def expect_passed(self, observation: Observation, exchange: Exchange, body: bytes) -> Spend:
        """One that is no conversation. What a batch, pictures or sound cost nobody can say before; on this machine it is nothing
        where their model has no price."""
        wanted = read_wanted(exchange, body)
        observation.model = wanted.model
        profile = self._profile(observation, exchange)
        foreseen, prices = exchange.endpoint.cost == "foreseen", self._prices(observation, profile)
        input_tokens = likely_most(-(-wanted.size // _CHARS_A_TOKEN))
        worst = None
        if foreseen:
            rule, most = find_cache_rule(exchange.provider, wanted.model), profile.max_output_tokens
            output_tokens = output_allowance(wanted.output_tokens, None if wanted.output_tokens else most)
            worst = worst_cost(prices, rule, input_tokens=input_tokens, output_tokens=output_tokens)
        has_price = prices is not None and prices.input is not None
        here = _is_here(exchange.root) and not has_price and (foreseen or wanted.model is not None)
        return self._spend(
            observation,
            exchange,
            at_ms=exchange.now_ms(),
            estimate=0 if here else worst,
            task=None,
            input_tokens=input_tokens,
            unforeseen=not foreseen and not here,
        )

    def is_cheaper(self, candidate: Candidate, sent: Conversation, than: Spend) -> bool:
        """Whether a request may cost less at a target than what it was priced at. Nobody knows of one without a price."""
        if than.estimate is None:
            return False
        model = candidate.model
        worst = worst_cost(
            candidate.price.prices,
            find_cache_rule(model.provider, model.id),
            input_tokens=than.input_tokens,
            output_tokens=output_allowance(requested_output(sent), model.max_output_tokens),
        )
        return worst is not None and worst < than.estimate

    def count(self, observation: Observation, exchange: Exchange, cost: int | None) -> Spend:
        """A call that is over and was not judged before, with what it cost."""
        at_ms = exchange.asked_ms
        return self._spend(observation, exchange, at_ms=at_ms, estimate=cost, task=self._task(observation, None))

    def cost(self, observation: Observation, exchange: Exchange, usage: Usage | None) -> int | None:
        """What a call cost, nano-USD: what the provider says, else its usage at list prices; `None` where nobody knows."""
        if usage is None:
            return None
        prices = self._prices(observation, self._profile(observation, exchange))
        found = cost_of_usage(usage, prices, find_cache_rule(exchange.provider, observation.model))
        return 0 if found is None and _is_here(exchange.root) else found

    def _profile(self, observation: Observation, exchange: Exchange) -> ModelProfile:
        return self._reader.profile(exchange, observation.model)

    def _prices(self, observation: Observation, profile: ModelProfile) -> Prices | None:
        if profile.prices is not None and profile.prices.input is not None:
            return profile.prices
        return observation.decision.candidate.price.prices if observation.decision is not None else profile.prices

    def _task(self, observation: Observation, sent: Conversation | None) -> str | None:
        """The turn of the user that a call belongs to; an errand of the client is one of its own, and the summaries that a
        client asks for in a row are one together."""
        if observation.decision is not None:
            alone = observation.decision.reason == "helper" and observation.caller.kind != "compaction"
            return None if alone else observation.decision.task_id
        if sent is None or observation.caller.kind not in CONVERSATION:
            return None
        index = read_turn(sent, self._reader.measuring.facts(sent)).index
        if index is None:
            return None
        return f"{observation.session}#{self._reader.measuring.canonical_hashes(sent)[index]:x}"

    def _spend(
        self,
        observation: Observation,
        exchange: Exchange,
        *,
        at_ms: int,
        estimate: int | None,
        task: str | None,
        input_tokens: int = 0,
        unforeseen: bool = False,
    ) -> Spend:
        """What a sub-agent spends is its session's."""
        number = len(observation.attempts)
        return Spend(
            id=f"{exchange.id}.{number + 1}" if number else exchange.id,
            at_ms=at_ms,
            day=local_day(at_ms),
            provider=exchange.provider,
            model=_text(observation.model or "unknown"),
            kind=observation.caller.kind,
            session=_text(observation.caller.session or observation.session) or None,
            task=_text(task) if task is not None else None,
            estimate=estimate,
            input_tokens=input_tokens,
            unforeseen=unforeseen,
        )


def price_question(question: Question, exchange: Exchange) -> Spend:
    """A question about a task, before it is put: the spending of the session and the task that it is for."""
    there = question.destination
    rule = find_cache_rule(there.provider, there.model)
    tokens = -(-len(question.worded.body) // _CHARS_A_TOKEN)
    worst = worst_cost(question.prices, rule, input_tokens=tokens, output_tokens=OUTPUT_TOKENS)
    at_ms = exchange.now_ms()
    return Spend(
        id=f"{exchange.id}.classifier",
        at_ms=at_ms,
        day=local_day(at_ms),
        provider=there.provider,
        model=there.model,
        kind="classifier",
        session=_text(question.session) or None,
        task=question.task,
        estimate=0 if worst is None and _is_here(there.root) else worst,
        input_tokens=tokens,
    )


def question_cost(question: Question, usage: Usage | None) -> int | None:
    """What its answer cost, nano-USD; `None` where nobody knows."""
    if usage is None:
        return None
    there = question.destination
    return cost_of_usage(usage, question.prices, find_cache_rule(there.provider, there.model))


def local_day(at_ms: int) -> str:
    """The day of this machine's time zone, `2026-01-31`."""
    return datetime.fromtimestamp(at_ms / 1000, UTC).astimezone().date().isoformat()


def time_zone(at_ms: int) -> str:
    """The name of this machine's time zone at that moment, with its distance from UTC: `CET (+01:00)`."""
    there = datetime.fromtimestamp(at_ms / 1000, UTC).astimezone()
    distance = f"{there:%z}"
    return f"{there.tzname()} ({distance[:3]}:{distance[3:5]})"


def _is_here(root: str) -> bool:
    return is_loopback(urlsplit(root).hostname or "")


def _text(words: str) -> str:
    """Text that a database takes: names come from clients, who may cut a sign in two."""
    return words.encode("utf-8", "replace").decode()
