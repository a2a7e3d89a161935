"""What cannot be carried from one dialect to another: said once each, or refused."""

from __future__ import annotations

from msgspec import Struct

from ullage.core.errors import CallError


class Loss(Struct, frozen=True, kw_only=True):
    """One thing that a translated request or answer does not say, or says otherwise.

    `code` is a stable word for programs, `where` the place in the source's own terms (a member, a type of part, a tool), `what`
    a sentence for people. None of it holds content.
    """

    code: str
    where: str
    what: str


class TranslationRefused(CallError):  # noqa: N818 - a refusal, as the manual calls it
    """What was asked for would mean something else at the target, so nothing is sent. The message has the reason."""

    code = "untranslatable"


class Losses:
    """Collects losses in the order in which they were found; the same one again is not told again."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], Loss] = {}

    def add(self, code: str, where: str, what: str) -> None:
        """One more thing that is not carried."""
        self._found.setdefault((code, where), Loss(code=code, where=where, what=what))

    def found(self) -> tuple[Loss, ...]:
        """All of them."""
        return tuple(self._found.values())


def refuse(where: str, reason: str, *, hint: str = "") -> TranslationRefused:
    """The refusal of a request for one member of it. To be raised."""
    return TranslationRefused(f"{where}: {reason}", hint=hint or "Ask a target that speaks the client's own protocol.")
