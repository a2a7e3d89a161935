"""What the user wants kept from which provider: the settings' section `privacy` (planner specification, section 2.2)."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct, field

from .classes import Classification, RemoteClass


class RemoteProvider(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one remote provider may be sent."""

    allowed: Annotated[
        tuple[RemoteClass, ...], Meta(description="The classes that this provider may be sent; no others.")
    ] = ()


class PrivacySettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is kept from providers, in every mode (planner specification, section 23)."""

    enabled: Annotated[
        bool, Meta(description="Withhold marked text and secrets from requests. Then not every byte passes as it came.")
    ] = False
    default_classification: Annotated[
        Classification, Meta(description="The class of text without a marker; markers can only raise it.")
    ] = "normal"
    local_providers: Annotated[
        tuple[str, ...],
        Meta(description="Providers that may be sent everything: a provider's name, a host, or host and port."),
    ] = ("faux", "ollama", "llama-cpp", "lmstudio")
    remote_default_allowed: Annotated[
        tuple[RemoteClass, ...], Meta(description="The classes that any other provider may be sent.")
    ] = ("normal", "internal")
    remote_providers: Annotated[
        dict[str, RemoteProvider],
        Meta(description="What single providers may be sent, by their names; such a one is never local."),
    ] = field(default_factory=dict)
    redact_secrets: Annotated[
        bool, Meta(description="Withhold keys, tokens and passwords from providers that are not local.")
    ] = True
