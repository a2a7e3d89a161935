"""What a credential looks like: the rules of ours, and the form in which others' are used.

Each rule has anchors, fixed letters that its credentials cannot do without. They are what a text is searched for; a rule then
looks at the places where they stand, and nowhere else.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Iterator

    Span = tuple[int, int]


class Finder(Protocol):
    """Looks for a credential around an anchor."""

    def __call__(self, text: str, position: int) -> Iterator[Span]:
        """The spans of what is to be withheld; `position` is where an anchor begins."""


class Rule(Struct, frozen=True, kw_only=True):
    """One kind of credential. `anchors` are in small letters.

    `sign` must match where an anchor begins in JSON, if the rule is to find anything there; it saves reading the text. `scope` is
    how many characters from an anchor on a finder has seen, so that it is not asked again for the anchors among them.
    """

    kind: str
    anchors: tuple[str, ...]
    find: Finder
    sign: re.Pattern[bytes] | None = None
    scope: int = 0


def _matching(pattern: str, flags: int = 0) -> Finder:
    """Finds what the pattern matches from the anchor on, or the group `value` of it. No pattern runs back over what it read."""
    compiled = re.compile(pattern, flags)
    group = "value" if "value" in compiled.groupindex else 0

    def find(text: str, position: int) -> Iterator[Span]:
        found = compiled.match(text, position)
        if found is not None:
            yield found.span(group)

    return find


def _token(kind: str, pattern: str, sign: bytes, *anchors: str) -> Rule:
    return Rule(kind=kind, anchors=anchors, find=_matching(pattern), sign=re.compile(sign))


def _spelled(*names: tuple[str, str]) -> tuple[str, ...]:
    """Two words in every spelling that `[ _-]?` lets in."""
    return tuple(f"{first}{between}{second}" for first, second in names for between in ("", " ", "_", "-"))


_NAMES = r"(?:api[ _-]?key|(?:access|auth)[ _-]?token|client[ _-]?secret|password)"
_NAME = re.compile(_NAMES + r"\Z", re.IGNORECASE)

# A value is quoted, or quoted inside of other quotes (`\"…\"`), or bare. A quote before an operator ends a text that ends in the
# name, as in `"password: " + value`.
_ASSIGNMENT = re.compile(
    r"(?<!has)(?<!has_)" + _NAMES + r"(?:\\*+[\"'`]|\])?[ \t]{0,8}+(?::=|=>|==?|:)[ \t]{0,8}+"
    r"(?:(?P<quote>[\"'`])(?![ \t]|[+,;)][\s,;)])(?P<quoted>(?:\\.|(?!(?P=quote))[^\\\r\n]){4,}+)"
    r"|(?P<inner>\\++[\"'`])(?P<within>(?:(?!(?P=inner))[^\r\n]){4,}+)"
    r"|(?P<bare>[^\s\"'`,;(){}\[\]<>\\&|]{4,}+))",
    re.IGNORECASE,
)

# Code says where a value comes from, or what type it has; that is no secret, and the code would be broken without it.
_TEMPLATE = re.compile(r"\$\{[^{}]*\}|\$[A-Z_][A-Z0-9_]*|\{\{?[ ]?[A-Za-z_][\w.]*[ ]?\}?\}|%\(\w+\)s")
_PATH_OF_NAMES = re.compile(r"[A-Za-z_]+(?:\??\.[A-Za-z_]\w*)+[!?]?")
_OTHER_NAME = re.compile(rf"(?:\w*_)?(?i:{_NAMES})|[a-z]\w*(?:ApiKey|AccessToken|AuthToken|ClientSecret|Password)")
_WORDS_OF_CODE = frozenset(
    """
    any async await boolean bytes char false function nil none null number object optional required return self str string
    this true typeof undefined unknown varchar void yield
    """.split()  # noqa: SIM905 - one word a line would hide the list
)
_CALLS = ("(", "[", "?.")

_KEY_BEGINS = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_KEY_ENDS = re.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_KEY_REACH_CHARS = 64


def is_secret_name(name: str) -> bool:
    """Whether a value of this name is a credential, as in `{"api_key": "…"}`."""
    return _NAME.search(name) is not None


def _find_assigned(text: str, position: int) -> Iterator[Span]:
    """A value of at least four characters that is assigned to the name of a credential."""
    found = _ASSIGNMENT.match(text, position)
    if found is None:
        return
    group = next(name for name in ("quoted", "within", "bare") if found[name] is not None)
    value, span = found[group], found.span(group)
    if _TEMPLATE.fullmatch(value) or not any(map(str.isalnum, value)):
        return
    if group != "bare" or not _is_code(value, text[span[1] : span[1] + 2]):
        yield span


def _is_code(value: str, after: str) -> bool:
    """Whether a bare value is a type, a constant, or says where the value comes from: a call, a path of names, another name."""
    return (
        after.startswith(_CALLS)
        or value.lower() in _WORDS_OF_CODE
        or _PATH_OF_NAMES.fullmatch(value) is not None
        or _OTHER_NAME.fullmatch(value) is not None
    )


def _find_private_key(text: str, position: int) -> Iterator[Span]:
    """A block of a private key; one without an end goes on to the end of the text."""
    begin = _KEY_BEGINS.search(text, max(0, position - _KEY_REACH_CHARS), position + _KEY_REACH_CHARS)
    if begin is not None:
        end = _KEY_ENDS.search(text, begin.end())
        yield begin.start(), len(text) if end is None else end.end()


# Planner specification, sections 23.3 and 35.1 (R29).
OUR_RULES: tuple[Rule, ...] = (
    _token("sk", r"(?<![A-Za-z0-9])sk-[A-Za-z0-9_-]{8,}+", rb"sk-[\w-]{8}", "sk-"),
    _token(
        "github",
        r"(?<![A-Za-z0-9])gh[pousr]_[A-Za-z0-9_]{12,}+",
        rb"gh[pousr]_\w{12}",
        "ghp_",
        "gho_",
        "ghu_",
        "ghs_",
        "ghr_",
    ),
    _token("github", r"github_pat_[A-Za-z0-9_]{12,}+", rb"github_pat_\w{12}", "github_pat_"),
    _token("gitlab", r"glpat-[A-Za-z0-9_.-]{12,}+", rb"glpat-[\w.-]{12}", "glpat-"),
    _token(
        "slack",
        r"(?<![A-Za-z0-9])(?:xox[a-zA-Z]|xapp)-[A-Za-z0-9-]{10,}+",
        rb"x(?:ox[a-zA-Z]|app)-[A-Za-z0-9-]{10}",
        "xox",
        "xapp-",
    ),
    _token(
        "aws",
        r"(?<![A-Za-z0-9])(?:AKIA|ASIA)[A-Z0-9]{16,}+",
        rb"A[KS]IA[A-Z0-9]{16}",
        "akia",
        "asia",
    ),
    Rule(
        kind="bearer",
        anchors=("bearer",),
        find=_matching(r"\bbearer[ \t]{1,8}+(?P<value>[A-Za-z0-9._~+/=-]{8,}+)", re.IGNORECASE),
        sign=re.compile(rb"bearer(?:[ \t]|\\+t)", re.IGNORECASE),
    ),
    Rule(
        kind="assignment",
        anchors=(
            *_spelled(("api", "key"), ("access", "token"), ("auth", "token"), ("client", "secret")),
            "password",
        ),
        find=_find_assigned,
        sign=re.compile(_NAMES.encode() + rb"(?:\\+t|[\\\"'`\] \t\r\n]){0,24}[:=]", re.IGNORECASE),
    ),
    Rule(
        kind="private key",
        anchors=("private key",),
        find=_find_private_key,
        sign=re.compile(rb"PRIVATE KEY"),
    ),
)
