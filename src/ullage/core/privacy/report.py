"""What the manifest says of privacy: counts and names of classes, never text (planner specification, section 25.1)."""

from __future__ import annotations

from typing import Any

from msgspec import Struct, structs

from .classes import Classification
from .destination import Destination


class Exclusion(Struct, frozen=True, kw_only=True):
    """A supplement that was left out because the destination may not see all of it."""

    kind: str
    id: str
    classification: Classification


class PrivacyReport(Struct, frozen=True, kw_only=True):
    """One request's privacy.

    `selected_classifications` counts the slices of each class, blocked ones too. `blocked_blocks` are the values that were
    withheld for their class, `secret_redactions` the credentials. `provider_checks` counts checks of the bytes that left.
    """

    destination: Destination
    selected_classifications: dict[Classification, int] = {}
    blocked_blocks: int = 0
    secret_redactions: int = 0
    excluded_sources: tuple[Exclusion, ...] = ()
    provider_checks: int = 0

    def with_exclusions(self, *exclusions: Exclusion) -> PrivacyReport:
        return structs.replace(self, excluded_sources=(*self.excluded_sources, *exclusions))

    def checked(self) -> PrivacyReport:
        """The report of a request whose rendered bytes have passed."""
        return structs.replace(self, provider_checks=self.provider_checks + 1)

    def manifest(self) -> dict[str, Any]:
        """The `privacy` object of a manifest."""
        return {
            "enabled": True,
            "destination": self.destination.kind,
            "provider": self.destination.provider,
            "allowed_classifications": list(self.destination.allowed),
            "selected_classifications": dict(self.selected_classifications),
            "blocked_blocks": self.blocked_blocks,
            "secret_redactions": self.secret_redactions,
            "excluded_sources": [structs.asdict(one) for one in self.excluded_sources],
            "provider_checks": self.provider_checks,
            "enforcement": "context-and-provider" if self.provider_checks else "context",
        }
