"""`/context status`: where the session stands, on one screen (planner specification, section 31)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ullage.cli import records
from ullage.cli.awareness_text import counted
from ullage.cli.records import ago, open_records, print_lines, tokens
from ullage.core.errors import InputError, StoreError
from ullage.core.terminal import safe

from .newest import newest_call

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ullage.settings import Loaded
    from ullage.stores import CallRecord

    from .asked import Asked

_WIDTH = 16
Fact = tuple[str, str]


def show_status(asked: Asked) -> int:
    """Daemon, Pi, session, the newest request and its plan, the limits, what is kept and learned, and the records."""
    from ullage.settings import load_settings

    loaded = load_settings()
    facts = [*_programs(asked, loaded), *_session(asked), *_requests(asked, loaded), *_records(asked, loaded)]
    facts.append(
        ("not there", "retrieval of history and project, continuation, learned ranking, quality of live requests")
    )
    print_lines(safe(f"{name:<{_WIDTH}}{text}") for name, text in facts)
    return 0


def _programs(asked: Asked, loaded: Loaded) -> Iterator[Fact]:
    from ullage._version import __version__
    from ullage.pi.address import is_running, read_address

    address = read_address(loaded.paths.data_dir)
    host = asked.host
    phase, mode = "degraded, no daemon runs", ""
    if address is not None and is_running(address):
        phase, mode = "active", address.mode
    mode = mode or loaded.settings.mode
    if host.problem:
        phase = f"degraded, {host.problem}"
    meant = f"; settings here say {loaded.settings.mode}" if mode != loaded.settings.mode else ""
    yield "ullage", f"{__version__}: {phase}, mode {mode}{meant}"
    if host.version or host.apis:
        offered = f"{sum(host.apis.values())} of {len(host.apis)} optional parts are there: /context adapter"
        yield "pi", f"{host.version or 'version unknown'}, {offered}"


def _session(asked: Asked) -> Iterator[Fact]:
    host = asked.host
    entries = f", {host.entries} entries" if host.entries is not None else ""
    branch = f", {host.branch} of them on this branch" if host.branch is not None else ""
    yield "session", f"{asked.session or 'unknown'}{entries}{branch}"
    yield "model", asked.model or "unknown"


def _requests(asked: Asked, loaded: Loaded) -> Iterator[Fact]:
    from .compaction_screens import due_text

    privacy = "on" if loaded.settings.privacy.enabled else "off"
    try:
        call = newest_call(asked.session)
    except (InputError, StoreError) as error:
        yield "newest request", error.message
        yield "compaction", due_text(asked)
        yield "privacy", privacy
        return
    yield from _request(call)
    yield from _planned(call.plan or {})
    yield "compaction", due_text(asked)
    yield "privacy", _privacy(privacy, (call.plan or {}).get("privacy"))


def _request(call: CallRecord) -> Iterator[Fact]:
    usage = call.usage or {}
    parts = [usage.get(name) for name in ("input_fresh", "cache_read", "cache_write")]
    actual = sum(part or 0 for part in parts) if any(part is not None for part in parts) else None
    estimated = f"estimated {tokens(call.estimated_input_tokens, estimated=True)} tokens"
    cached = f"cache read {tokens(usage.get('cache_read'))}, written {tokens(usage.get('cache_write'))}"
    reported = f"reported {tokens(actual)} ({cached})"
    if actual is None:
        reported = "not sent" if call.outcome == "answered" else f"nothing reported ({call.outcome})"
    when = ago(call.created_ms, records.now_ms())
    yield "newest request", f"{call.id}, {when}: {estimated}, {reported}"
    awareness = call.awareness or {}
    budget, learned = awareness.get("budget"), awareness.get("calibration")
    if budget:
        yield "limits", ", ".join(f"{name} {tokens(budget.get(name))}" for name in ("active", "soft", "hard"))
    if learned:
        ratio = learned.get("median_ratio") if learned.get("calibrated") else None
        told = f"ratio {ratio:.3f}" if ratio is not None else "collecting"
        counts = f"{learned.get('accepted', 0)} of {learned.get('observed', 0)} samples accepted"
        yield "calibration", f"{told}, {counts} ({learned.get('method')})"


def _planned(plan: dict[str, Any]) -> Iterator[Fact]:
    from .figures import original_tokens, supplement_count

    if "status" not in plan:
        yield "plan", "none, requests are sent as they are"
        return
    count = plan.get("messages")
    if count:
        size = f"~{plan['tokens']:,} of ~{original_tokens(plan):,} tokens"
        took = f", planned in {plan['timings_ms']['plan']:.1f} ms" if "plan" in plan.get("timings_ms", {}) else ""
        yield "plan", f"{plan['status']}: {count['included']} of {count['total']} messages, {size}{took}"
        sent = [counted(supplement_count(plan, kind), noun) for kind, noun in (("pin", "pin"), ("memory", "claim"))]
        yield "added", f"{' and '.join(sent)}; {counted(len(plan['replaced']), 'long result')} as references"
    else:
        yield "plan", str(plan["status"])
    if plan.get("error"):
        yield "fallback", plan["error"]
    for warning in plan.get("warnings") or ():
        yield "warning", warning


def _privacy(state: str, privacy: dict[str, Any] | None) -> str:
    if not privacy:
        return state
    withheld = f"{privacy['blocked_blocks']} withheld, {privacy['secret_redactions']} redacted"
    return f"{state}, {privacy['enforcement']}: {withheld}"


def _records(asked: Asked, loaded: Loaded) -> Iterator[Fact]:
    from ullage.stores.migrations import MIGRATIONS
    from ullage.stores.opening import MEMORY, find_database

    from .kept_screens import kept_here

    try:
        pins, memories = kept_here("pin").active(asked), kept_here("memory").active(asked)
        yield "kept", f"{counted(len(pins), 'pin')} and {counted(len(memories), 'claim')} here"
        reader = open_records()
        artifacts = reader.artifacts(asked.session, limit=records.MATCHES) if asked.session else []
        yield "artifacts", f"{len(artifacts)} of this session: /context artifacts"
        problems = reader.problems()
    except StoreError as error:
        yield "database", error.message
        return
    url = loaded.settings.store.url
    where = url if url == MEMORY else str(find_database(url, loaded.paths.data_dir))
    yield "database", f"{where}, schema {MIGRATIONS[-1].number}"
    yield from (("warning", problem) for problem in (*problems, *map(str, loaded.problems)))
