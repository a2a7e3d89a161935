"""Whether what files of DS4 say of privacy can be taken over: whole, or not at all.

Half of a policy would keep less back than its author meant, and would look as if it kept all of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .catalog import catalog
from .privacy import DEFAULT_ALLOWED, REMOTE_PROVIDERS, is_among, is_as_strict, is_of_privacy

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from ullage.core.privacy.policy import RemoteProvider

    from .ds4 import Ds4File


def refuse_privacy(files: Sequence[Ds4File], known: Collection[str]) -> str | None:
    """Why none of it is taken over; `None` if all of it can be. `files` are in the order in which they are heard.

    `known` are the names that providers have here, in lower case: what is kept from one by another name would be kept from none.
    A later file is a project's, but what is taken over holds for all, so it must let no more through than the ones before.
    """
    policy = _Policy()
    for file in files:
        if not file.privacy_is_whole:
            return f"not all that {file.path} says of it can be used"
        if looser := list(policy.loosened_by(file)):
            return f"{file.path} lets more through than the file before it ({', '.join(looser)})"
        policy.add(file)
    strangers = sorted(name for name in policy.providers if name.strip().lower() not in known)
    return f"no provider is called {', '.join(strangers)} here" if strangers else None


class _Policy:
    """What the files up to now say together."""

    def __init__(self) -> None:
        self.providers: dict[str, RemoteProvider] = {}
        self._values: dict[str, Any] = {}

    def add(self, file: Ds4File) -> None:
        self._values |= {key: value for key, value in file.values.items() if is_of_privacy(key)}
        self.providers |= file.remote_providers

    def loosened_by(self, file: Ds4File) -> Iterator[str]:
        """What of a file lets more through than was said before, if anything was."""
        if not self._values and not self.providers:
            return
        for key, value in file.values.items():
            if is_of_privacy(key) and not is_as_strict(key, value, self._value(key)):
                yield key
        for name, rule in file.remote_providers.items():
            held = self.providers[name].allowed if name in self.providers else self._value(DEFAULT_ALLOWED)
            if not is_among(rule.allowed, held):
                yield f"{REMOTE_PROVIDERS}.{name}"

    def _value(self, key: str) -> Any:
        return self._values.get(key, catalog()[key].default)
