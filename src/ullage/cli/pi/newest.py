"""The newest request of the session in Pi, and the model that is meant where none is named."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ullage.cli.records import open_records
from ullage.core.errors import InputError

if TYPE_CHECKING:
    from ullage.stores import CallRecord

    from .asked import Asked

OURS = "ullage/"
"""How the names begin of models that stand for others."""


def newest_call(session: str) -> CallRecord:
    """The newest request of a session's conversation. Raises `InputError` if there was none."""
    for call in open_records().calls(session, kind="conversation", limit=1):
        return call
    raise InputError(
        "No request of this session is recorded yet.", hint="Send a prompt, then ask again.", code="not_found"
    )


def model_of(asked: Asked) -> str:
    """The model that Pi is at; where that stands for others, the one that the newest request went to. Raises `InputError`."""
    from ullage.stores.report import target_of

    if asked.model and not asked.model.startswith(OURS):
        return asked.model
    return target_of(newest_call(asked.session))
