"""Every error ullage raises on purpose, in one tree.

    UllageError
    ├── CallError          the caller's fault: what was asked for makes no sense (CLI exit 2)
    │   └── SettingsError  a setting is wrong
    ├── InputError         the material is at fault: a file, a body, a line (CLI exit 1)
    │   ├── RequestError   a request body cannot be read as its dialect
    │   └── SessionError   a recorded session cannot be read
    ├── PrivacyError       what was asked to be sent may not leave, or nobody can tell
    ├── RoutingError       there is no model that a routed request may go to
    ├── UpstreamError      the provider or the way to it
    └── StoreError         our own database

Each error says what was asked, the limit, the value seen and the next step: `message` is one sentence, `hint` what to do,
`code` a stable word for programs.
"""

from __future__ import annotations


class UllageError(Exception):
    """Root of the tree. `code` is stable; `message` and `hint` are for people and may change."""

    code = "internal"

    def __init__(self, message: str, *, hint: str = "", code: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        if code is not None:
            self.code = code


class CallError(UllageError):
    """What was asked for makes no sense; the caller must ask differently."""

    code = "bad_call"


class SettingsError(CallError):
    """A setting has a value that cannot be used."""

    code = "bad_setting"


class InputError(UllageError):
    """Material that was handed in cannot be read."""

    code = "bad_input"


class RequestError(InputError):
    """A request body cannot be read as the dialect it claims to be."""

    code = "bad_request"


class SessionError(InputError):
    """A recorded session cannot be read."""

    code = "bad_session"


class PrivacyError(UllageError):
    """A request may not go where it was to go, or could not be checked. Nothing of it is sent."""

    code = "privacy_refused"


class RoutingError(UllageError):
    """No model may take a request that names none itself. Nothing of it is sent; `code` is that of the stop."""

    code = "routing_stopped"


class UpstreamError(UllageError):
    """The provider, or the way to it, failed. `status` is that of its answer, `None` where none began or nobody noted it."""

    code = "upstream_failed"
    status: int | None = None


class StoreError(UllageError):
    """Our own database could not be used."""

    code = "store_failed"
