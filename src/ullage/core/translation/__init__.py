"""Requests and answers of one dialect in another, so that any client can be answered by any target (routing specification, 19).

What cannot be carried is left out and told, or refused where it would mean something else: never silently.
"""

from .answer import AnswerTranslator
from .fitting import fit_members
from .losses import Loss, TranslationRefused
from .request import TranslatedRequest, translate_request
from .sealing import SEAL_MARK_BYTES, holds_seal, without_wrapped
from .target import Target
from .terms import Terms

__all__ = [
    "SEAL_MARK_BYTES",
    "AnswerTranslator",
    "Loss",
    "Target",
    "Terms",
    "TranslatedRequest",
    "TranslationRefused",
    "fit_members",
    "holds_seal",
    "translate_request",
    "without_wrapped",
]
