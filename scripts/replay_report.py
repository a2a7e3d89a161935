"""Makes the measured blocks of docs/explanation/cache-honest-tail.md from the recorded sessions beside the repository."""

from __future__ import annotations

import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from generated import settle_block

from ullage.catalogs import load_now
from ullage.core.planning import tail_steps
from ullage.core.profiles import ModelProfile, resolve_profile
from ullage.core.profiles.cache_rules import find_cache_rule
from ullage.core.spend import call_prices
from ullage.evals import replay_tables as tables
from ullage.evals.files import find_files
from ullage.evals.replay import ALL, Replay, replay
from ullage.evals.replay_cache import prompt_usd
from ullage.evals.replay_policies import Setting, draw_limits, make_player
from ullage.evals.replay_traces import read_traces
from ullage.evals.tables import Table
from ullage.sources import read_session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ullage.evals.replay_traces import Trace

    Profiles = Callable[[str | None, str | None, str | None], ModelProfile]

SESSIONS = Path(__file__).resolve().parents[2] / "shared" / "data" / "sessions"
PAGE = "../explanation/cache-honest-tail.md"
COMMAND = "make replay"
TAIL = 64_000
OTHERS = ((64_000, 200_000), (64_000, 128_000), (32_000, None), (24_000, 128_000))
CHANGES = (
    ("LEAST_SHARE", (0.15, 0.2, 0.33, 0.5)),
    ("STEP", (1.0, 2.0, 4.0)),
    ("WHOLE_TURN", (1.0, 1.5, 3.0)),
    ("PATIENCE", (1.0, 4.0)),
)


def main() -> int:
    if not SESSIONS.is_dir():
        print("There is no recorded data beside the repository: nothing to measure.", file=sys.stderr)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        catalogs = load_now(Path(folder), refresh=False)

    def profile_of(provider: str | None, model: str | None, dialect: str | None) -> ModelProfile:
        provider, model = provider or "", model or ""
        return resolve_profile(provider, model, dialect=dialect, layers=catalogs.layers(provider, model))

    paths = find_files([SESSIONS]).paths
    made = replay(paths, profile_of, tail=TAIL)
    blocks = {
        "the played cache": validation(made),
        "every session": tables.trace_table(made).as_markdown(),
        "all sessions": policies(made, unbroken(paths, profile_of)),
        "other limits": others(paths, profile_of).as_markdown(),
        "the constants": constants(paths, profile_of, made).as_markdown(),
    }
    return max(settle_block(PAGE, name, body, COMMAND) for name, body in blocks.items())


def validation(made: Replay) -> str:
    notes = "\n".join(f"- {line}" for line in tables.disagreements(made))
    return f"{tables.validation_table(made).as_markdown()}\n\n{notes}"


def policies(made: Replay, bound: float) -> str:
    parts = [f"{name}:\n\n{tables.policy_table(pool).as_markdown()}" for name, pool in made.pooled.items()]
    least = bound / made.pooled[ALL]["sliding"].usd - 1
    note = f"The sliding tail itself, if its prefix never broke and only what is new were written: {least:+.1%}."
    return "\n\n".join([*parts, note])


def unbroken(paths: tuple[Path, ...], profile_of: Profiles) -> float:
    """What the sliding tail would cost if all that was sent before were read as long as the cache is warm."""
    return sum(
        _unbroken(trace, profile_of(trace.provider, trace.model, trace.dialect))
        for path in paths
        if not (session := read_session(path)).handmade
        for trace in read_traces(session)
        if any(call.unseen + sum(call.tokens) > TAIL for call in trace.calls)
    )


def _unbroken(trace: Trace, profile: ModelProfile) -> float:
    rule = find_cache_rule(trace.provider, trace.model)
    setting = Setting(
        budget=draw_limits(profile, None),
        tail=TAIL,
        prices=call_prices(profile.prices, rule),
        ttl_ms=rule.ttl_ms,
        target="",
    )
    player, before, usd = make_player("sliding", setting), None, 0.0
    for call in trace.calls:
        kept = player.send(call).kept
        prompt = call.fixed + sum(call.tokens[index] for index in kept)
        warm = before is not None and call.time_ms - before.time_ms <= rule.lifetime_ms(long=call.long)
        known = set(before.hashes) if before is not None and warm else set()
        read = sum(call.tokens[index] for index in kept if call.hashes[index] in known) + (call.fixed if warm else 0)
        usd += prompt_usd(profile.prices, rule, prompt=prompt, read=read, long=call.long)
        before = call
    return usd


def others(paths: tuple[Path, ...], profile_of: Profiles) -> Table:
    rows = []
    for tail, window in OTHERS:
        made = replay(paths, profile_of, tail=tail, window=window, policies=("sliding", "auto"))
        size = f"{window:,}" if window is not None else "each model's own"
        rows.append((f"{tail:,}", size, *_beside(made)))
    return Table(header=("tail", "window", *_HEADER), rows=tuple(rows), texts=0)


def constants(paths: tuple[Path, ...], profile_of: Profiles, usual: Replay) -> Table:
    rows = [("as they are", *_beside(usual))]
    for name, values in CHANGES:
        for value in values:
            with changed(name, value):
                made = replay(paths, profile_of, tail=TAIL, policies=("sliding", "auto"))
            rows.append((f"`{name}` {value:g}", *_beside(made)))
    return Table(header=("constant", *_HEADER), rows=tuple(rows))


_HEADER = ("cost", "kept a call", "evidence", "sliding's", "rewrites", "sliding's", "dearest session")


def _beside(made: Replay) -> tuple[str, ...]:
    """The tail in steps beside the sliding one, and the session for which it is worst."""
    pool = made.pooled[ALL]
    sliding, auto = pool["sliding"], pool["auto"]
    pairs = [(trace.policies["auto"].usd, trace.policies["sliding"].usd) for trace in made.traces if trace.reaches]
    return (
        f"{auto.usd / sliding.usd - 1:+.1%}",
        f"{auto.kept_per_call / sliding.kept_per_call - 1:+.1%}",
        f"{auto.evidence:.1%}",
        f"{sliding.evidence:.1%}",
        str(auto.rewrites),
        str(sliding.rewrites),
        f"{max(mine / theirs for mine, theirs in pairs) - 1:+.1%}",
    )


@contextmanager
def changed(name: str, value: float) -> Iterator[None]:
    """One constant of the policy with another value."""
    usual = getattr(tail_steps, name)
    setattr(tail_steps, name, value)
    try:
        yield
    finally:
        setattr(tail_steps, name, usual)


if __name__ == "__main__":
    sys.exit(main())
