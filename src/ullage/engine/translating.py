"""Requests in the words of a target that speaks another protocol than the client, and whether there are such words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from ullage.core.profiles.binding import binds_thinking
from ullage.core.translation import TranslationRefused, fit_members, translate_request
from ullage.core.wire import DIALECTS

from .route_sending import target_of

if TYPE_CHECKING:
    from ullage.core.routing.filtering import Candidate
    from ullage.core.translation import Target, TranslatedRequest
    from ullage.core.translation.target import Kind
    from ullage.core.wire import Conversation

    from .endpoint import Purpose
    from .routing import Decision

_ANSWERS_ALONE = "only requests for an answer are translated."


class Translating:
    """Says of one request which targets it can be translated for. Each kind of target is tried once, when it is asked about."""

    def __init__(self, conversation: Conversation, purpose: Purpose) -> None:
        self._conversation = conversation
        self._purpose = purpose
        self._found: dict[Kind, str | None] = {}

    def refusal(self, candidate: Candidate) -> str | None:
        """Why a target cannot be asked this in its own protocol; `None` where it can."""
        dialect = next((one for one in DIALECTS if one == candidate.model.api), None)
        if dialect is None:
            return None
        if self._purpose == "other" and dialect != self._conversation.dialect:
            return _ANSWERS_ALONE
        target = target_of(candidate.model, dialect)
        if target.kind not in self._found:
            self._found[target.kind] = self._try(target)
        return self._found[target.kind]

    def _try(self, target: Target) -> str | None:
        try:
            if target.dialect == self._conversation.dialect:
                fit_members(self._conversation, target)
            else:
                translate_request(self._conversation, target)
        except TranslationRefused as refused:
            return refused.message
        return None


def translate(conversation: Conversation, decision: Decision, *, changed: bool) -> TranslatedRequest:
    """The request in the words of the target that was chosen. `changed`: a plan has left out some of its history, so a model that
    takes thinking back only behind what it was made on gets none. Raises `TranslationRefused`."""
    model = decision.candidate.model
    level = None if decision.as_asked else decision.thinking
    target = target_of(model, decision.destination.dialect)
    if changed and binds_thinking(model.id):
        target = replace(target, reasoning=False)
    return translate_request(conversation, target, level="off" if model.reasoning is False else level)
