"""`ullage eval tokens`: how far estimates are from what providers counted (accounting specification, sections 21 and 23).

A case is one payload with the count that a provider returned for it. The estimate sees the payload alone: no usage, nothing
learned. Beside it stands the plainest estimate there is, four characters a token.
"""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec import Struct

from ullage.core.accounting import account, make_meter, read_payload
from ullage.core.accounting.sections import TOOL_BLOCK
from ullage.core.errors import InputError, UllageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ullage.core.accounting import Breakdown

LARGE_TOKENS = 2_000
"""Requests are told apart at this size: large prompts shrink the error of framing and show that of ratios (section 21)."""

TEXT_SHAPE = "tokenize-text"
Aspect = Literal["provider", "model", "family", "kind", "size"]
ASPECTS: tuple[Aspect, ...] = ("provider", "model", "family", "kind", "size")

CHARS_PER_TOKEN = 4
"""Of the plainest estimate."""

_COUNTED_KINDS = ("request", "text", "tool-delta")


class Case(Struct, frozen=True, kw_only=True):
    """One payload of the shape `api` and what the provider counted for it. `what` is "request", "text" (a bare text) or
    "tool-delta" (the net cost of one tool); `source` is the recording that it comes from."""

    provider: str | None
    model: str | None
    api: str | None
    what: str
    payload: dict[str, Any]
    tokens: int
    source: str


class Scored(Struct, frozen=True, kw_only=True):
    """A case beside its estimate. `kind` is what made it hard: text, calls, tools, schema, media, sealed, or "bare text" and
    "one tool" for what is no request. `plain` is the estimate by four characters a token."""

    provider: str
    model: str
    family: str
    kind: str
    tokens: int
    estimate: int
    low: int
    high: int
    measured: bool
    plain: int
    source: str

    @property
    def size(self) -> str:
        return "< 2k" if self.tokens < LARGE_TOKENS else "≥ 2k"

    @property
    def error(self) -> float:
        """Signed, relative to the truth."""
        return (self.estimate - self.tokens) / self.tokens

    @property
    def plain_error(self) -> float:
        return (self.plain - self.tokens) / self.tokens


class Skipped(Struct, frozen=True, kw_only=True):
    """A line that is no case, by its number from 1, and why."""

    line: int
    reason: str


class Evaluation(Struct, frozen=True, kw_only=True):
    scored: tuple[Scored, ...]
    skipped: tuple[Skipped, ...] = ()


class Quality(Struct, frozen=True, kw_only=True):
    """Errors over a group of `cases`, as shares of the truth. `bias` is the error of the sum, `signed` the median with its sign,
    `exact` the share without error, `covered` the share whose interval holds the truth, `width` the median width of the
    interval, `plain_median` and `plain_p90` those of four characters a token."""

    group: dict[str, str]
    cases: int
    median: float
    p90: float
    signed: float
    bias: float
    exact: float
    covered: float
    width: float
    plain_median: float
    plain_p90: float


def read_case(line: bytes) -> Case:
    """The case on a line. Raises `InputError` if there is none or its text is missing."""
    try:
        row = msgspec.json.decode(line)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise InputError(f"The line is not JSON: {error}.") from error
    if not isinstance(row, dict):
        raise InputError("The line is no JSON object.")
    tokens, payload, what = row.get("tokens"), row.get("payload"), row.get("kind", "request")
    if what not in _COUNTED_KINDS or not isinstance(payload, dict):
        raise InputError(f"A payload of the kind {what!r} holds no text to count.")
    if not isinstance(tokens, int) or isinstance(tokens, bool) or tokens <= 0:
        raise InputError("`tokens` is no positive number.")
    words = {key: value if isinstance(value := row.get(key), str) else None for key in ("provider", "model", "api")}
    source = row.get("source")
    return Case(**words, what=what, payload=payload, tokens=tokens, source=source if isinstance(source, str) else "")


def score_case(case: Case) -> Scored:
    """Estimates a case. Raises `InputError` or `CallError` if its payload cannot be read."""
    if case.api == TEXT_SHAPE or case.what == "text":
        return _score_text(case)
    breakdown = estimate(case)
    if case.what == "tool-delta":
        return _score_tool(case, breakdown)
    total = breakdown.total
    return _scored(
        case, breakdown.family, total.content, total.tokens, total.low, total.high, total.measured, _chars(breakdown)
    )


def estimate(case: Case) -> Breakdown:
    """The breakdown of a request by the payload alone."""
    if case.api is None:
        raise InputError("`api` is missing.")
    payload = read_payload(msgspec.json.encode(case.payload), case.api)
    meter = make_meter(dialect=case.api, provider=case.provider, model=case.model or payload.model, client=None)
    return account(payload.context, meter, options=payload.options)


def evaluate(lines: Iterable[bytes]) -> Evaluation:
    """Scores every line that is a case; the others are named."""
    scored, skipped = [], []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            scored.append(score_case(read_case(line)))
        except UllageError as error:
            skipped.append(Skipped(line=number, reason=error.message))
        except Exception as error:  # noqa: BLE001 - one odd line must not end an evaluation of thousands
            skipped.append(Skipped(line=number, reason=f"{type(error).__name__}: {error}"))
    return Evaluation(scored=tuple(scored), skipped=tuple(skipped))


def qualities(scored: Sequence[Scored], by: Sequence[Aspect]) -> list[Quality]:
    """The errors of each group, the groups in alphabetical order."""
    groups: dict[tuple[str, ...], list[Scored]] = defaultdict(list)
    for one in scored:
        groups[tuple(str(getattr(one, aspect)) for aspect in by)].append(one)
    return [quality(groups[key], dict(zip(by, key, strict=True))) for key in sorted(groups)]


def quality(scored: Sequence[Scored], group: dict[str, str]) -> Quality:
    """The errors of one group, which must not be empty."""
    errors = [one.error for one in scored]
    sizes, plain = sorted(map(abs, errors)), sorted(abs(one.plain_error) for one in scored)
    truth = sum(one.tokens for one in scored)
    return Quality(
        group=group,
        cases=len(scored),
        median=statistics.median(sizes),
        p90=quantile(sizes, 0.9),
        signed=statistics.median(errors),
        bias=(sum(one.estimate for one in scored) - truth) / truth,
        exact=statistics.fmean(one.estimate == one.tokens for one in scored),
        covered=statistics.fmean(one.low <= one.tokens <= one.high for one in scored),
        width=statistics.median((one.high - one.low) / one.tokens for one in scored),
        plain_median=statistics.median(plain),
        plain_p90=quantile(plain, 0.9),
    )


def quantile(ordered: Sequence[float], share: float) -> float:
    """The value that `share` of the ordered values do not exceed."""
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def _score_text(case: Case) -> Scored:
    text = case.payload.get("text")
    if not isinstance(text, str):
        raise InputError("The payload has no `text`.")
    meter = make_meter(dialect=None, provider=case.provider, model=case.model, client=None)
    amount = meter.rule.prose(text)
    return _scored(case, meter.family, "bare text", amount.tokens, amount.low, amount.high, False, len(text))


def _score_tool(case: Case, breakdown: Breakdown) -> Scored:
    """The tools without what comes once, which is what a difference of two counts leaves."""
    tools = next((section for section in breakdown.sections if section.id == "tools"), None)
    items = [item for item in tools.items if item.name != TOOL_BLOCK] if tools is not None else []
    tokens, low, high = (sum(getattr(item, name) for item in items) for name in ("tokens", "low", "high"))
    return _scored(
        case, breakdown.family, "one tool", tokens, low, high, False, tools.chars if tools is not None else 0
    )


def _scored(case: Case, family: str, kind: str, tokens: int, low: int, high: int, measured: bool, chars: int) -> Scored:
    return Scored(
        provider=case.provider or "unknown",
        model=case.model or "unknown",
        family=family,
        kind=kind,
        tokens=case.tokens,
        estimate=tokens,
        low=low,
        high=high,
        measured=measured,
        plain=math.ceil(chars / CHARS_PER_TOKEN),
        source=case.source,
    )


def _chars(breakdown: Breakdown) -> int:
    return sum(section.chars for section in breakdown.sections)
