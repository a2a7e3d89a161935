"""The calls of a recorded session, measured once: every one as `--call N` shows it."""

from __future__ import annotations

from pathlib import Path

import pytest

from ullage.cli.context_input import Wishes, read_breakdown
from ullage.cli.session_timeline import make_timeline
from ullage.core.accounting import Meter, make_meter
from ullage.core.accounting.insights import CallAccount, account_calls, find_growth, sections_by_kind
from ullage.sources import Call, Session, read_session

SESSIONS = Path(__file__).parents[1] / "data" / "sessions"
SMALL = sorted(path for path in SESSIONS.rglob("*") if path.suffix in (".json", ".jsonl"))
GOLDEN = Path(__file__).parents[1] / "golden" / "insights" / "session.in.jsonl"


def meter_of(session: Session, call: Call) -> Meter:
    return make_meter(dialect=call.dialect, provider=call.provider, model=call.model, client=session.client)


def accounts_of(path: Path) -> list[CallAccount]:
    session = read_session(path)
    return account_calls(make_timeline(session, lambda call: meter_of(session, call)))


def assert_the_same(path: Path, account: CallAccount) -> None:
    alone = read_breakdown(str(path), Wishes(call=account.index + 1))
    kinds = {kind: tokens for kind, tokens in sections_by_kind(alone).items() if tokens}
    assert (account.sections, account.gap) == (kinds, alone.gap), (path.name, account.index)
    assert (account.total, account.kind) == (alone.total.tokens, alone.total.kind), (path.name, account.index)


@pytest.mark.parametrize("path", [*SMALL, GOLDEN], ids=lambda path: path.stem[:40])
def test_every_call_s_account_is_that_of_the_call_alone(path: Path) -> None:
    for account in accounts_of(path):
        if account.total is not None:
            assert_the_same(path, account)


def test_a_timeline_ends_with_the_call_that_was_asked_for() -> None:
    session = read_session(GOLDEN)
    whole = make_timeline(session, lambda call: meter_of(session, call))
    part = make_timeline(session, lambda call: meter_of(session, call), last=2)
    assert len(whole.calls) == 10
    assert [call.number for call in part.calls] == [1, 2, 3]


def test_compactions_cut_the_branch() -> None:
    session = read_session(GOLDEN)
    timeline = make_timeline(session, lambda call: meter_of(session, call))
    [cut] = [call for call in timeline.calls if call.compaction]
    assert (cut.number, cut.anchor, cut.compacted) == (9, None, True)
    assert not timeline.calls[7].compacted


@pytest.mark.shared
def test_recorded_sessions_are_accounted_for_call_by_call(shared_data: Path) -> None:
    """A dozen calls of each, compared with the account of that call alone; growth always sums up."""
    for path in sorted((shared_data / "sessions").glob("*/*")):
        session = read_session(path)
        timeline = make_timeline(session, lambda call, session=session: meter_of(session, call))  # type: ignore[misc]
        accounts = account_calls(timeline)
        for account in accounts[:: max(1, len(accounts) // 6)]:
            if account.total is not None:
                assert_the_same(path, account)
        for call in find_growth(timeline, accounts, window_of=session.anchor()):
            if call.growth is not None:
                assert sum(piece.tokens for piece in call.added) + (call.unexplained or 0) == call.growth
