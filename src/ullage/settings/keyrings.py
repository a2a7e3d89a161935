"""Keys out of the system's keyring, by the library `keyring`, which is an extra."""

from __future__ import annotations

from ullage.core.errors import SettingsError

HOW_TO_INSTALL = "Run `pip install 'ullage[keyring]'`, or use env:VARIABLE."


def read_keyring(service: str, user: str) -> str | None:
    """The password that a service has for a user; `None` if it has none. The system may ask its user to unlock it meanwhile.

    Raises `SettingsError` (`no_keyring`) where the extra is not installed, or the keyring cannot be read.
    """
    try:
        import keyring
        from keyring.errors import KeyringError
    except ImportError as error:
        raise SettingsError(
            "Keys of a keyring are read by a library that is not installed.", hint=HOW_TO_INSTALL, code="no_keyring"
        ) from error
    try:
        password: str | None = keyring.get_password(service, user)
    except (KeyringError, OSError, RuntimeError) as error:
        raise SettingsError(
            f"The keyring cannot be read: {type(error).__name__}.",
            hint="Use env:VARIABLE on a machine without one.",
            code="no_keyring",
        ) from error
    return password
