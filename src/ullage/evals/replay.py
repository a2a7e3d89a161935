"""`ullage eval replay`: what recorded sessions would have cost, and would have kept, with another tail.

Every request of a session is planned again by a policy and sent to a played prompt cache. First the cache is put to the
test: of what was really sent it must read what the provider reported to have read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from ullage.core.caching import check
from ullage.core.errors import SessionError
from ullage.core.profiles.cache_rules import find_cache_rule
from ullage.core.spend import call_prices
from ullage.sources import read_session

from .files import Skipped
from .replay_cache import PrefixCache, prompt_usd
from .replay_figures import Figures, Tally, Validation, add_up, validate
from .replay_policies import POLICIES, PolicyName, Setting, draw_limits, make_player
from .replay_traces import read_traces

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from ullage.core.profiles import ModelProfile
    from ullage.core.profiles.cache_rules import CacheRule

    from .replay_traces import Trace

ALL = "all"
"""The name of the pool that holds every client's calls."""


class Replayed(Struct, frozen=True, kw_only=True):
    """One trace by every policy. `priced` says that prices are known; without them costs are in units of a million input
    tokens.

    `reaches` says that the history of some call is longer than the tail: of others no policy has anything to leave out.
    """

    path: str
    client: str
    provider: str | None
    model: str | None
    agent: str
    rule: str
    headless: bool
    window: int
    priced: bool
    reaches: bool
    calls: int
    validation: Validation
    policies: dict[str, Figures]


class Replay(Struct, frozen=True, kw_only=True):
    """All that `ullage eval replay` reports. `pooled` has the figures of the traces that reach the tail's limit, by client
    and of all; `validation` is of all traces, by client and of all."""

    tail: int
    window: int | None
    traces: tuple[Replayed, ...]
    validation: dict[str, Validation]
    pooled: dict[str, dict[str, Figures]]
    skipped: tuple[Skipped, ...]


def replay(
    paths: Iterable[Path],
    profile_of: Callable[[str | None, str | None, str | None], ModelProfile],
    *,
    tail: int,
    window: int | None = None,
    policies: Sequence[PolicyName] = POLICIES,
    skipped: tuple[Skipped, ...] = (),
) -> Replay:
    """Plays these files. `profile_of` tells the profile of a provider, model and dialect; `window` goes before the model's
    own.

    The sliding tail is always played, since kept evidence is told in parts of what it keeps. A file that is no session, or
    has no call with usage, is skipped.
    """
    replayed: list[Replayed] = []
    for path in paths:
        traces = _read(path)
        if isinstance(traces, str):
            skipped = (*skipped, Skipped(path=str(path), reason=traces))
            continue
        for trace in traces:
            profile = profile_of(trace.provider, trace.model, trace.dialect)
            replayed.append(_play(trace, profile, tail=tail, window=window, policies=policies))
    return Replay(
        tail=tail,
        window=window,
        traces=tuple(replayed),
        validation=_pool_validations(replayed),
        pooled=_pool_figures(replayed),
        skipped=skipped,
    )


def _read(path: Path) -> list[Trace] | str:
    """The traces of a file, or why there are none."""
    try:
        session = read_session(path)
        traces = read_traces(session)
    except SessionError as error:
        return error.message.rstrip(".")
    if session.handmade:
        return "its figures are made by hand"
    return traces or "has no calls with usage"


def _play(
    trace: Trace, profile: ModelProfile, *, tail: int, window: int | None, policies: Sequence[PolicyName]
) -> Replayed:
    rule = find_cache_rule(trace.provider, trace.model)
    budget = draw_limits(profile, window)
    prices = call_prices(profile.prices, rule, long=trace.calls[0].long)
    setting = Setting(
        budget=budget,
        tail=tail,
        prices=prices,
        ttl_ms=rule.lifetime_ms(long=trace.calls[0].long),
        target=f"{trace.provider}/{trace.model}",
    )
    course = _Course(trace, rule, profile, setting)
    sliding = course.play("sliding")
    tallies = {name: sliding if name == "sliding" else course.play(name) for name in policies}
    return Replayed(
        path=trace.path,
        client=trace.client,
        provider=trace.provider,
        model=trace.model,
        agent=trace.agent,
        rule=rule.id,
        headless=trace.headless,
        window=budget.context_window,
        priced=prices.known,
        reaches=any(call.unseen + sum(call.tokens) > tail for call in trace.calls),
        calls=len(trace.calls),
        validation=course.validate(),
        policies={name: tally.figures(sliding) for name, tally in tallies.items()},
    )


class _Course:
    """One trace that is played again and again."""

    def __init__(self, trace: Trace, rule: CacheRule, profile: ModelProfile, setting: Setting) -> None:
        self._trace = trace
        self._rule = rule
        self._profile = profile
        self._setting = setting

    def play(self, policy: PolicyName) -> Tally:
        """Sends every request by a policy."""
        player, cache, tally = make_player(policy, self._setting), self._cache(), Tally()
        for call in self._trace.calls:
            sent = player.send(call)
            tokens = [call.tokens[index] for index in sent.kept]
            fixed = call.fixed + (call.unseen if sent.unseen else 0)
            hashes = [call.hashes[index] for index in sent.kept]
            read = cache.send(hashes, tokens, fixed, now_ms=call.time_ms, long=call.long).tokens or 0
            prompt = fixed + sum(tokens)
            usd = prompt_usd(self._profile.prices, self._rule, prompt=prompt, read=read, long=call.long)
            tally.add(call, sent, prompt=prompt, read=read, usd=usd, hashes=hashes)
            player.learn(prompt=prompt, read=read)
        return tally

    def validate(self) -> Validation:
        """What the cache would have read of what was sent, beside what was reported. The first call is left out: what it
        reads was left by sessions before."""
        cache = self._cache()
        pairs = []
        for call in self._trace.calls:
            fixed = call.fixed + call.unseen
            found = cache.send(call.hashes, call.tokens, fixed, now_ms=call.time_ms, long=call.long)
            pairs.append((found, call.usage))
        return validate((found.tokens or 0, usage, check(found, usage)) for found, usage in pairs[1:])

    def _cache(self) -> PrefixCache:
        return PrefixCache(self._rule, self._profile.cache_minimum_tokens)


def _pool_figures(replayed: Sequence[Replayed]) -> dict[str, dict[str, Figures]]:
    pools: dict[str, list[Replayed]] = {}
    for one in replayed:
        if one.reaches:
            pools.setdefault(one.client, []).append(one)
            pools.setdefault(ALL, []).append(one)
    return {name: _added(pool) for name, pool in sorted(pools.items())}


def _added(pool: Sequence[Replayed]) -> dict[str, Figures]:
    return {name: add_up([one.policies[name] for one in pool]) for name in pool[0].policies}


def _pool_validations(replayed: Sequence[Replayed]) -> dict[str, Validation]:
    pools: dict[str, list[Validation]] = {}
    for one in replayed:
        pools.setdefault(one.client, []).append(one.validation)
        pools.setdefault(ALL, []).append(one.validation)
    return {name: Validation.add_up(pool) for name, pool in sorted(pools.items())}
