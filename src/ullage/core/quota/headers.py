"""What the headers of an answer say of its provider's limits (routing specification, section 16).

Names are looked up in lower case; a value that is empty is absent. Facts are from the providers' manuals: OpenAI's and
Anthropic's pages on rate limits, and the IETF draft `ratelimit-headers` in its forms of 2022 (three headers), 2023 and 2025.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from .moments import read_duration, read_epoch, read_http_date, read_number, read_rfc_3339

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

MOST_WAIT_MS = 86_400_000
"""No provider keeps us waiting for longer than a day."""

_COUNTS_TOKENS = frozenset({"anthropic", "openai"})
"""Providers whose `x-ratelimit-*-tokens` are read: those of others count in ways of their own."""

_MOST_CHARS = 512
_ANTHROPIC = "anthropic-ratelimit-"
_ANTHROPIC_TOKENS = ("tokens", "input-tokens", "output-tokens")
_CODEX = "x-codex-"
_UNIFIED = f"{_ANTHROPIC}unified-"
_UTILIZATION = "-utilization"
_MEMBER = re.compile(r'\s*(?:"(?P<name>[^"]*)"|(?P<token>[^;,="]+))(?P<rest>(?:;[^;,]*)*)\s*')
_PARAMETER = re.compile(r";\s*([a-z]+)\s*=\s*(\d+)", re.ASCII)
_PAIR = re.compile(r"\b(limit|remaining|reset)\s*=\s*(\d+)", re.ASCII)


class Limit(NamedTuple):
    """One limit as a provider tells it: which part is used, and when it begins anew. `None` is not told."""

    used: float | None
    reset_ms: int | None


class Reading(NamedTuple):
    """What the headers of one answer say. `until_ms` is when the limit that is used most begins anew."""

    uvi: float | None = None
    until_ms: int | None = None
    retry_at_ms: int | None = None


def read_headers(provider: str, headers: Iterable[tuple[str, str]], now_ms: int) -> Reading:
    """The limits of a provider and when it wants to be asked again, as far as an answer's headers tell."""
    known = clean_headers(headers)
    limits = _find_limits(provider, known, now_ms)
    told = [limit for limit in limits if limit.used is not None]
    fullest = max(told, key=lambda limit: (limit.used or 0.0, limit.reset_ms or 0), default=None)
    return Reading(
        uvi=fullest.used if fullest is not None else None,
        until_ms=fullest.reset_ms if fullest is not None else None,
        retry_at_ms=_find_retry(known, limits, now_ms),
    )


def clean_headers(headers: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Names in lower case, values without spaces around them; of repeated ones the first stays. Empty ones are left out, and
    those that are longer than any limit is told in."""
    found: dict[str, str] = {}
    for name, value in headers:
        text = value.strip() if len(value) <= _MOST_CHARS else ""
        if text:
            found.setdefault(name.strip().lower(), text)
    return found


def _find_limits(provider: str, headers: Mapping[str, str], now_ms: int) -> list[Limit]:
    """What the first adapter reads that reads anything: the one that knows the provider, the standard names, the IETF's."""
    for adapter in (
        _read_known(provider, headers, now_ms),
        _read_standard(headers, now_ms),
        _read_ietf(headers, now_ms),
    ):
        if found := [limit for limit in adapter if limit != _NOTHING]:
            return found
    return []


_NOTHING = Limit(None, None)


def _read_known(provider: str, headers: Mapping[str, str], now_ms: int) -> Iterator[Limit]:
    """Names that say whose they are count whoever passes them on; the rest is read of OpenAI and Anthropic only."""
    requests = _triple(headers, f"{_ANTHROPIC}requests-{{}}", now_ms)
    tokens = [_triple(headers, f"{_ANTHROPIC}{kind}-{{}}", now_ms) for kind in _ANTHROPIC_TOKENS]
    unified = list(_read_unified(headers, now_ms))
    if provider in _COUNTS_TOKENS:
        if requests == _NOTHING:
            requests = _first_of(headers, ("x-ratelimit-{}-requests", "x-ratelimit-{}"), now_ms)
        if all(limit == _NOTHING for limit in tokens):
            tokens = [_triple(headers, "x-ratelimit-{}-tokens", now_ms)]
    yield from (requests, *tokens, *unified, *_read_subscription(headers, now_ms))


def _read_unified(headers: Mapping[str, str], now_ms: int) -> Iterator[Limit]:
    """The windows of an Anthropic subscription (`5h`, `7d`, …): which part of each is used, and whether the last request was
    refused for it."""
    for name, value in headers.items():
        if name.startswith(_UNIFIED) and name.endswith(_UTILIZATION):
            used = read_number(value)
            window = name.removesuffix(_UTILIZATION)
            yield Limit(None if used is None else min(used, 1.0), _reset(headers.get(f"{window}-reset"), now_ms))
    if headers.get(f"{_UNIFIED}status") == "rejected":
        yield Limit(1.0, _reset(headers.get(f"{_UNIFIED}reset"), now_ms))


def _read_subscription(headers: Mapping[str, str], now_ms: int) -> Iterator[Limit]:
    """The two windows of an OpenAI subscription, by which Codex is limited: percents, and when each begins anew."""
    for window in ("primary", "secondary"):
        used = read_number(headers.get(f"{_CODEX}{window}-used-percent", ""))
        reset = _reset(headers.get(f"{_CODEX}{window}-reset-at"), now_ms)
        if reset is None:
            reset = _seconds(headers.get(f"{_CODEX}{window}-reset-after-seconds", ""), now_ms)
        yield Limit(None if used is None else min(used / 100, 1.0), reset)


def _read_standard(headers: Mapping[str, str], now_ms: int) -> Iterator[Limit]:
    yield _first_of(headers, ("x-ratelimit-{}-requests", "x-rate-limit-{}-requests", "x-ratelimit-{}"), now_ms)


def _read_ietf(headers: Mapping[str, str], now_ms: int) -> Iterator[Limit]:
    """`RateLimit` with its policies, or the three headers of older drafts; their resets count seconds from now."""
    plain = headers.get("ratelimit")
    if plain is None:
        found = {what: headers.get(f"ratelimit-{what}", "") for what in ("limit", "remaining", "reset")}
        yield _limit(found["limit"].partition(",")[0].strip(), found["remaining"], _seconds(found["reset"], now_ms))
        return
    pairs = dict(_PAIR.findall(plain))
    if pairs:
        yield _limit(pairs.get("limit", ""), pairs.get("remaining", ""), _seconds(pairs.get("reset", ""), now_ms))
        return
    quotas = {name: parameters.get("q", "") for name, parameters in _members(headers.get("ratelimit-policy", ""))}
    for name, parameters in _members(plain):
        yield _limit(quotas.get(name, ""), parameters.get("r", ""), _seconds(parameters.get("t", ""), now_ms))


def _members(value: str) -> Iterator[tuple[str, dict[str, str]]]:
    """The names of a structured list, each with its parameters that are whole numbers."""
    for part in value.split(","):
        found = _MEMBER.fullmatch(part)
        if found is not None:
            yield (found["name"] or found["token"] or "").strip(), dict(_PARAMETER.findall(found["rest"]))


def _first_of(headers: Mapping[str, str], patterns: Iterable[str], now_ms: int) -> Limit:
    """The first of these names that says how much is used, else the first that says anything."""
    found = [_triple(headers, pattern, now_ms) for pattern in patterns]
    return next(
        (one for one in found if one.used is not None), next((one for one in found if one != _NOTHING), _NOTHING)
    )


def _triple(headers: Mapping[str, str], pattern: str, now_ms: int) -> Limit:
    limit, remaining, reset = (headers.get(pattern.format(what), "") for what in ("limit", "remaining", "reset"))
    return _limit(limit, remaining, _reset(reset, now_ms))


def _limit(limit: str, remaining: str, reset_ms: int | None) -> Limit:
    most, left = read_number(limit), read_number(remaining)
    used = None if not most or left is None else min(max(1 - left / most, 0.0), 1.0)
    return Limit(used, reset_ms)


def _reset(value: str | None, now_ms: int) -> int | None:
    """When a limit begins anew: a moment, or a length of time. One that is past is none."""
    if not value:
        return None
    duration = read_duration(value)
    moment = now_ms + duration if duration is not None else (read_rfc_3339(value) or read_epoch(value))
    return moment if moment is not None and moment > now_ms else None


def _seconds(value: str, now_ms: int) -> int | None:
    number = read_number(value)
    return None if number is None else now_ms + int(number * 1000)


def _find_retry(headers: Mapping[str, str], limits: Iterable[Limit], now_ms: int) -> int | None:
    """When to ask again, by the first header that says so, at most a day from now."""
    for moment in _retry_moments(headers, limits, now_ms):
        if moment is not None:
            return min(moment, now_ms + MOST_WAIT_MS)
    return None


def _retry_moments(headers: Mapping[str, str], limits: Iterable[Limit], now_ms: int) -> Iterator[int | None]:
    after = headers.get("retry-after", "")
    yield _seconds(after, now_ms)
    yield _in_future(read_http_date(after), now_ms)
    for name in ("x-ratelimit-reset", "x-rate-limit-reset"):
        yield _in_future(read_epoch(headers.get(name, "")), now_ms)
    yield _seconds(headers.get("x-ratelimit-reset-after", ""), now_ms)
    yield _latest_reset(limits)


def _in_future(moment: int | None, now_ms: int) -> int | None:
    return moment if moment is not None and moment > now_ms else None


def _latest_reset(limits: Iterable[Limit]) -> int | None:
    """When all limits that are used up have begun anew; those that tell no figures may be used up as well (ours)."""
    known = [limit for limit in limits if limit.reset_ms is not None]
    spent = [limit for limit in known if limit.used is not None and limit.used >= 1]
    silent = [limit for limit in known if limit.used is None]
    return max((limit.reset_ms or 0 for limit in spent or silent), default=None)
