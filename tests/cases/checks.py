"""What must hold of a planned request, one function for each name that a case gives. Judged on JSON alone."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from ullage.core.tokens import load_vocabulary

from .reading import DIALECTS, Entry, messages_of, pair, read

if TYPE_CHECKING:
    from collections.abc import Callable


class Case(Struct, frozen=True):
    """A request that is planned, and within what."""

    id: str
    kind: str
    protocol: str
    request: dict[str, Any]
    budget: dict[str, Any]
    expect: str = ""
    checks: tuple[str, ...] = ()

    @property
    def dialect(self) -> str:
        return DIALECTS.get(self.protocol, self.protocol)

    @property
    def pins(self) -> list[str]:
        return list(self.budget.get("pins", []))

    @property
    def sweep(self) -> range | None:
        """The budgets at which all checks hold."""
        for check in self.checks:
            if check.startswith("sweep_budget_"):
                first, last = check.removeprefix("sweep_budget_").split("_")
                return range(int(first), int(last) + 1)
        return None


class Outcome(Struct, frozen=True, kw_only=True):
    """What came of a case at one limit. `sent` is the body, `None` where none is sent."""

    limit: int
    status: str
    kept: list[int]
    tokens: int
    sent: bytes | None
    error: str | None
    replaced: list[int] = []

    @property
    def refused(self) -> bool:
        return self.status == "refused"


class Judged:
    """A case with its outcome, both read. A refused request is judged by what it would have kept."""

    def __init__(self, case: Case, outcome: Outcome) -> None:
        self.case = case
        self.outcome = outcome
        self.before = read(case.request, case.dialect)
        self.request = next((i for i in range(len(self.before) - 1, -1, -1) if self.before[i].asks), None)
        if outcome.sent is None:
            self.sent: dict[str, Any] | None = None
            self.after = [self.before[index] for index in outcome.kept]
        else:
            self.sent = json.loads(outcome.sent)
            self.after = read(self.sent, case.dialect)

    @property
    def kept(self) -> set[int]:
        return set(self.outcome.kept)

    def raw(self, index: int) -> str:
        return self.before[index].raw


def no_orphan_result(judged: Judged) -> None:
    """Every result has its call before it."""
    waiting: Counter[str] = Counter()
    known: set[str] = set()
    for entry in judged.after:
        for result in entry.results:
            assert waiting[result] > 0 or result in known & _doubled(judged), entry.raw
            waiting[result] -= 1
        waiting.update(entry.calls)
        known.update(entry.calls)


def _doubled(judged: Judged) -> set[str]:
    """Calls that have more than one result from the start."""
    calls = Counter(call for entry in judged.before for call in entry.calls)
    results = Counter(result for entry in judged.before for result in entry.results)
    return {call for call, number in results.items() if number > calls[call]}


def no_orphan_call(judged: Judged) -> None:
    """Every call has its result, if it had one."""
    assert _unanswered(judged.after) <= _unanswered(judged.before)


def _unanswered(entries: list[Entry]) -> Counter[str]:
    left: Counter[str] = Counter()
    for entry in entries:
        left.subtract(entry.results)
        left.update(entry.calls)
    return +left


def group_whole(judged: Judged) -> None:
    """Calls and their results are kept or left together."""
    for group in pair(judged.before):
        assert group <= judged.kept or not group & judged.kept, group


def order_preserved(judged: Judged) -> None:
    """What is kept stands in its order, as it was (but for results that are shortened), with nothing added. Anthropic's system
    messages keep theirs among themselves: one may move to where the provider takes it."""
    assert judged.outcome.kept == sorted(judged.kept)
    assert len(judged.after) == len(judged.outcome.kept)
    moves = judged.case.dialect == "anthropic"
    kept = sorted(judged.outcome.kept, key=lambda index: moves and judged.before[index].system)
    sent = sorted(judged.after, key=lambda entry: moves and entry.system)
    for index, entry in zip(kept, sent, strict=True):
        assert index in judged.outcome.replaced or entry.raw == judged.raw(index)


def last_user_kept_last(judged: Judged) -> None:
    """The last message, which is the user's request, stays the last."""
    assert judged.after[-1].raw == judged.before[-1].raw


def within_budget(judged: Judged) -> None:
    """By our own count, and by the plain one of the cases: it is kept to unless the plan says that it cannot be."""
    outcome = judged.outcome
    if outcome.refused:
        assert outcome.error and outcome.tokens > outcome.limit
        return
    assert outcome.tokens <= outcome.limit
    assert sum(count(entry) for entry in judged.after if not entry.system) <= outcome.limit


def count(entry: Entry) -> int:
    """Tokens of a message in o200k: four, and its content, and for each call eight with name and arguments. Pictures are left
    out: what they cost is another check."""
    vocabulary = load_vocabulary("o200k_base")
    message = json.loads(entry.raw)
    texts = list(_texts(message))
    return 4 + sum(vocabulary.count(text) for text in texts) + 8 * len(entry.calls)


_UNREAD = frozenset(
    {
        "type",
        "id",
        "role",
        "call_id",
        "tool_call_id",
        "tool_use_id",
        "signature",
        "encrypted_content",
        "url",
        "data",
        "status",
    }
)


def _texts(value: Any) -> Any:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for one in value:
            yield from _texts(one)
    elif isinstance(value, dict):
        for key, one in value.items():
            if key not in _UNREAD:
                yield from _texts(one)


def results_first(judged: Judged) -> None:
    """In a message with results these come first."""
    for message in messages_of(judged.sent or {"messages": []}, judged.case.dialect):
        kinds = [block["type"] for block in message["content"]] if isinstance(message["content"], list) else []
        assert kinds == sorted(kinds, key=lambda kind: kind != "tool_result") or "tool_result" not in kinds


def turn_starts_at_real_user_text(judged: Judged) -> None:
    """Nothing begins with a message that answers calls."""
    first = next(entry for entry in judged.after if not entry.system)
    assert not first.results


def no_orphan_reasoning(judged: Judged) -> None:
    """Reasoning is followed by what it led to."""
    for index in judged.outcome.kept:
        if judged.before[index].reasons:
            assert index + 1 in judged.kept
    for entry, following in zip(judged.after, [*judged.after[1:], None], strict=True):
        assert not entry.reasons or (following is not None and following.role == "assistant")


def current_request_kept(judged: Judged) -> None:
    """What the user asks for stays, word for word."""
    assert judged.request is not None
    assert judged.raw(judged.request) in [entry.raw for entry in judged.after]
    assert judged.after[-1].raw == judged.before[-1].raw or judged.outcome.replaced


def newest_groups_kept(judged: Judged) -> None:
    """Of the current turn, the newest call groups are kept in an unbroken run."""
    assert judged.request is not None
    groups = sorted((group for group in pair(judged.before) if min(group) > judged.request), key=max)
    kept = [group <= judged.kept for group in groups]
    assert kept == sorted(kept)
    assert not kept or kept[-1]


def identical_output(judged: Judged) -> None:
    """Byte for byte."""
    assert judged.outcome.status == "unchanged"
    assert judged.sent == judged.case.request


def no_message_removed(judged: Judged) -> None:
    """Every message is kept."""
    assert judged.outcome.kept == list(range(len(judged.before)))


def pair_by_position(judged: Judged) -> None:
    """A result stays with the call that it came for, though another one has its id."""
    group_whole(judged)
    order_preserved(judged)


def no_result_lost_in_kept_turn(judged: Judged) -> None:
    """Where a call is kept, all of its results are."""
    group_whole(judged)


def pin_kept_verbatim(judged: Judged) -> None:
    """What is pinned stays as it is, also where it cannot be sent."""
    for index in _pinned(judged.case):
        assert index in judged.kept
        assert judged.raw(index) in [entry.raw for entry in judged.after]


def reports_pin_overflow(judged: Judged) -> None:
    """Where pins and request do not fit, the plan says so, and names the pins."""
    needed = sum(count(judged.before[index]) for index in {*_pinned(judged.case), judged.request} if index is not None)
    if needed > judged.outcome.limit:
        assert judged.outcome.refused
        assert "pins" in (judged.outcome.error or "")


def _pinned(case: Case) -> list[int]:
    return [int(pointer.rpartition("/")[2]) for pointer in case.pins]


def in_flight_kept(judged: Judged) -> None:
    """The last message of the assistant and what follows it are there."""
    last = max(index for index, entry in enumerate(judged.before) if entry.role == "assistant")
    assert {*range(last, len(judged.before))} <= judged.kept


def no_invented_result(judged: Judged) -> None:
    """No result that the client did not send."""
    before = Counter(result for entry in judged.before for result in entry.results)
    after = Counter(result for entry in judged.after for result in entry.results)
    assert after <= before


def reports_overflow(judged: Judged) -> None:
    """A request that does not fit is refused, with an error, and its mandatory part is told."""
    if judged.outcome.refused:
        assert judged.outcome.error
    else:
        within_budget(judged)


def newest_assistant_identical(judged: Judged) -> None:
    """The last message of the assistant and all behind it are as they were."""
    last = max(index for index, entry in enumerate(judged.before) if entry.role == "assistant")
    tail = [entry.raw for entry in judged.before[last:]]
    assert [entry.raw for entry in judged.after[-len(tail) :]] == tail


def no_partial_thinking(judged: Judged) -> None:
    """Thinking is there as it was, or not at all."""
    before = {entry.raw for entry in judged.before}
    assert all(entry.raw in before for entry in judged.after if entry.thinks)


def well_formed_text(judged: Judged) -> None:
    """No half of a character, of a flag, or of what is joined to one."""
    for entry in judged.after:
        entry.text.encode()  # refuses lone surrogates
        for piece in entry.text.split("\n"):
            assert not piece or not _joins(piece[0]), piece[:20]
            assert not piece.endswith("\u200d"), piece[-20:]
            assert sum("\U0001f1e6" <= letter <= "\U0001f1ff" for letter in piece) % 2 == 0, piece


def _joins(character: str) -> bool:
    return character in "\u200d\ufe0f" or "\u0300" <= character <= "\u036f" or "\U0001f3fb" <= character <= "\U0001f3ff"


def valid_json(judged: Judged) -> None:
    """A body that is sent is UTF-8 and one JSON object."""
    if judged.outcome.sent is not None:
        assert isinstance(json.loads(judged.outcome.sent.decode()), dict)


def marks_omission(judged: Judged) -> None:
    """A result that was shortened says how much is missing, and what is left of it is as it was."""
    for index, entry in zip(judged.outcome.kept, judged.after, strict=True):
        if entry.raw == judged.raw(index):
            continue
        whole = judged.before[index].text
        head, mark, tail = entry.text.partition("\n[… ")
        number, _, tail = tail.partition(" characters of this result are omitted …]\n")
        assert mark and whole.startswith(head) and whole.endswith(tail)
        assert int(number) == len(whole) - len(head) - len(tail) > 0


CHECKS: dict[str, Callable[[Judged], None]] = {
    check.__name__: check
    for check in (
        no_orphan_result,
        no_orphan_call,
        group_whole,
        order_preserved,
        last_user_kept_last,
        within_budget,
        results_first,
        turn_starts_at_real_user_text,
        no_orphan_reasoning,
        current_request_kept,
        newest_groups_kept,
        identical_output,
        no_message_removed,
        pair_by_position,
        no_result_lost_in_kept_turn,
        pin_kept_verbatim,
        reports_pin_overflow,
        in_flight_kept,
        no_invented_result,
        reports_overflow,
        newest_assistant_identical,
        no_partial_thinking,
        well_formed_text,
        valid_json,
        marks_omission,
    )
}
"""All but those that compare several plans: what a picture costs, and sweeps."""
