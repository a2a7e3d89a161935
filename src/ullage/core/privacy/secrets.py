"""Credentials in a text: where they stand, and the text without them. Counts are kept, values never (section 23.3)."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from ahocorasick_rs import BytesAhoCorasick

from .library import library_rules
from .placeholders import SECRET, is_placeholder
from .rules import OUR_RULES, Rule

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class Secret(NamedTuple):
    """A credential as a span of its text."""

    start: int
    end: int
    kind: str


class _Rules(NamedTuple):
    """All rules, the anchors of all, and which rules each anchor belongs to."""

    anchors: tuple[bytes, ...]
    of_anchor: tuple[tuple[Rule, ...], ...]
    automaton: BytesAhoCorasick


def secret_anchors() -> dict[bytes, tuple[Rule, ...]]:
    """What a text must hold, in small letters, to hold a secret, with the rules that then look at it."""
    rules = _rules()
    return dict(zip(rules.anchors, rules.of_anchor, strict=True))


def find_secrets(text: str) -> list[Secret]:
    """The credentials of a text in order; those that touch or overlap are one."""
    return _merged(secret for secret in _found(text) if not is_placeholder(text[secret.start : secret.end]))


def redact(text: str) -> tuple[str, list[str]]:
    """The text without its credentials, and the kind of each that was taken out."""
    secrets = find_secrets(text)
    pieces: list[str] = []
    position = 0
    for secret in secrets:
        pieces += [text[position : secret.start], SECRET]
        position = secret.end
    return "".join([*pieces, text[position:]]), [secret.kind for secret in secrets]


def _found(text: str) -> Iterator[Secret]:
    rules = _rules()
    encoded = text.encode("utf-8", "replace")
    position = offset = 0
    seen: dict[int, int] = {}
    for anchor, start, _ in sorted(
        rules.automaton.find_matches_as_indexes(encoded.lower(), overlapping=True), key=lambda hit: hit[1]
    ):
        position += len(encoded[offset:start].decode("utf-8", "replace"))
        offset = start
        for rule in rules.of_anchor[anchor]:
            if position < seen.get(id(rule), 0):
                continue
            end = position + rule.scope
            for first, last in rule.find(text, position):
                end = max(end, last)
                yield Secret(first, last, rule.kind)
            seen[id(rule)] = end


def _merged(secrets: Iterable[Secret]) -> list[Secret]:
    merged: list[Secret] = []
    for secret in sorted(secrets):
        if merged and secret.start <= merged[-1].end:
            last = merged[-1]
            merged[-1] = Secret(last.start, max(last.end, secret.end), last.kind)
        else:
            merged.append(secret)
    return merged


@cache
def _rules() -> _Rules:
    rules = (*OUR_RULES, *library_rules())
    anchors = tuple(dict.fromkeys(anchor for rule in rules for anchor in rule.anchors))
    encoded = tuple(anchor.encode() for anchor in anchors)
    return _Rules(
        anchors=encoded,
        of_anchor=tuple(tuple(rule for rule in rules if anchor in rule.anchors) for anchor in anchors),
        automaton=BytesAhoCorasick(encoded),
    )
