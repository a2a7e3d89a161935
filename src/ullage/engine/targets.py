"""Where a routed request may go: who offers which models, at what address, with whose key (design, section 10)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from msgspec import Struct
from msgspec.structs import replace

from ullage.catalogs.lookup import undated
from ullage.core.errors import CallError
from ullage.core.routing.capability import capability_of
from ullage.core.routing.identity import converses, find_match, find_naming, matches, split_target
from ullage.core.routing.knowing import prepare_known
from ullage.core.routing.models import ModelRecord
from ullage.core.routing.suggesting import suggest
from ullage.core.wire import Dialect
from ullage.settings import DEFAULT_UPSTREAMS, resolve_upstreams
from ullage.settings.credentials import KEY_VARIABLES, Credential
from ullage.settings.providers import Provider, find_providers
from ullage.settings.resolving import resolve_by
from ullage.settings.route_config import make_route_config
from ullage.upstream import provider_of
from ullage.upstream.keys import check_destination

from .naming import source_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ullage.core.profiles import Layer
    from ullage.core.routing.capability import Capability
    from ullage.core.routing.filtering import Candidate
    from ullage.core.routing.route import RouteConfig
    from ullage.settings import Settings

CLIENT_ALONE = "Only a client has its key."
"""What a default upstream lacks of which we have no key."""

_KEY_OWNERS = {variable: provider for provider, variables in KEY_VARIABLES.items() for variable in variables}


class Destination(Struct, frozen=True, kw_only=True):
    """Where the requests for a target go. `root` has no API version, `dialect` is what is spoken there.

    `client_key`: the client's own credential goes along, as it came; it does so to the default upstream of the protocol that it
    came in by and nowhere else. Otherwise it is taken out, and `credential` is sent in its place, or none where that is `None`.
    """

    target: str
    provider: str
    model: str
    dialect: Dialect
    root: str
    credential: Credential | None = None
    client_key: bool = False


class Targets(Protocol):
    """The models that may be chosen. Any thread may ask."""

    def candidates(self, dialect: Dialect, *, client_key: bool) -> tuple[Candidate, ...]:
        """All known models that may answer a client of this dialect: at providers that speak it, and, where requests may be
        translated, at others. `client_key`: the client has a credential of its own.

        The same object as long as nothing new is known. The first one may take some tenths of a second, so not on the event loop.
        """
        ...

    def destination(self, target: str, dialect: Dialect, *, client_key: bool) -> Destination | None:
        """Where a target's requests of a client of this dialect go; `None` where nobody takes them, or for want of a key."""
        ...

    def suggest(self, target: str) -> str | None:
        """The target that was probably meant by one that there is not."""
        ...


class Offers(Protocol):
    """What is published of providers and their models. `edition` is another object when anything new is."""

    @property
    def edition(self) -> object: ...

    def layers(self, provider: str, model: str) -> Sequence[Layer]: ...

    def models(self, provider: str) -> Sequence[str]: ...


class NoOffers:
    """Nobody publishes anything."""

    edition: object = None

    def layers(self, provider: str, model: str) -> Sequence[Layer]:
        return ()

    def models(self, provider: str) -> Sequence[str]:
        return ()


class ConfiguredTargets:
    """The targets of the settings. Keys are looked up in `environ` once, here. `config` stands in place of the settings' own."""

    def __init__(
        self,
        settings: Settings,
        environ: Mapping[str, str],
        offers: Offers | None = None,
        config: RouteConfig | None = None,
    ) -> None:
        self._settings = settings
        self._offers = offers or NoOffers()
        self._config = config or make_route_config(settings)
        self._translates = settings.routing.translate
        self._scope = settings.routing.models
        aliased = (one for alias in settings.routing.aliases.values() for one in alias.models)
        self._patterns = tuple(dict.fromkeys((*self._scope, *aliased)))
        classifier = settings.routing.classifier
        self._named = (
            (*self._patterns, classifier.target) if classifier.enabled and classifier.target else self._patterns
        )
        self._upstreams = resolve_upstreams(settings)
        self._providers = {one.name: _checked(one) for one in _reachable(settings, environ, self._upstreams)}
        self._known: dict[tuple[Dialect, bool], tuple[object, tuple[Candidate, ...]]] = {}

    def candidates(self, dialect: Dialect, *, client_key: bool) -> tuple[Candidate, ...]:
        edition = self._offers.edition
        known = self._known.get((dialect, client_key))
        if known is None or known[0] is not edition:
            found = tuple(self._find(dialect, client_key=client_key))
            known = self._known[dialect, client_key] = edition, found
        return known[1]

    def destination(self, target: str, dialect: Dialect, *, client_key: bool) -> Destination | None:
        parts = split_target(target)
        provider = self._providers.get(parts[0]) if parts is not None else None
        spoken = self._spoken(provider, dialect) if provider is not None else None
        if parts is None or provider is None or spoken is None:
            return None
        own = client_key and self.takes_client_key(provider, dialect)
        if not own and provider.problem:
            return None
        return Destination(
            target=target,
            provider=provider.name,
            model=parts[1],
            dialect=spoken,
            root=provider.root,
            credential=None if own else provider.credential,
            client_key=own,
        )

    def suggest(self, target: str) -> str | None:
        return suggest(target, [f"{one.name}/{model}" for one in self._providers.values() for model in self._ids(one)])

    @property
    def unmatched(self) -> tuple[str, ...]:
        """Patterns of scopes that no model of these providers is of."""
        known = [f"{one.name}/{model}" for one in self._providers.values() for model in self._ids(one)]
        return tuple(one for one in self._patterns if not any(matches(one, target) for target in known))

    @property
    def providers(self) -> tuple[Provider, ...]:
        """Those that may be reached, each with what is wrong with it."""
        return tuple(self._providers.values())

    def takes_client_key(self, provider: Provider, dialect: Dialect) -> bool:
        """Whether a provider is where requests of this dialect go by default, with the client's own credential."""
        return dialect in provider.dialects and provider.root == self._upstreams[dialect]

    def _spoken(self, provider: Provider, dialect: Dialect) -> Dialect | None:
        """What a provider is spoken to in for a client of this dialect: the same, else the first of its own by translation."""
        if dialect in provider.dialects:
            return dialect
        return provider.dialects[0] if self._translates and provider.dialects else None

    def _find(self, dialect: Dialect, *, client_key: bool) -> Iterator[Candidate]:
        for provider in self._providers.values():
            spoken = self._spoken(provider, dialect)
            if spoken is None:
                continue
            has_key = not provider.problem or (client_key and self.takes_client_key(provider, dialect))
            offered = self._offered(provider)
            for model in self._ids(provider):
                # A provider of another protocol that nobody named and nobody has a key of is not worth a word.
                if spoken != dialect and not has_key and not self._is_meant(provider, model):
                    continue
                candidate = self._candidate(provider, model, spoken, authenticated=has_key, offered=model in offered)
                if candidate is not None:
                    yield candidate

    def _ids(self, provider: Provider) -> Iterator[str]:
        """Ids that it is said to offer, and those that the settings name in full."""
        exact = [parts for one in self._named if "*" not in one and (parts := split_target(one)) is not None]
        yield from dict.fromkeys((*self._offered(provider), *(model for name, model in exact if name == provider.name)))

    def _offered(self, provider: Provider) -> Mapping[str, None]:
        return dict.fromkeys(provider.models or _newest(self._offers.models(source_name(provider.name, provider.root))))

    def _candidate(
        self, provider: Provider, model: str, dialect: Dialect, *, authenticated: bool, offered: bool
    ) -> Candidate | None:
        """The candidate; `None` for one that nobody named and of which too little is known.

        Who is named by an alias or for the classifier alone is a candidate there, and not a usual one (`Candidate.usual`).
        """
        record = ModelRecord(provider=provider.name, id=model, api=dialect, authenticated=authenticated)
        listed = model in provider.models
        chats = listed or converses(model)
        named = find_naming(self._named, record.target, chats=chats) is not None
        capability = self._capability(record, provider)
        usual = offered and not self._scope and (listed or (chats and capability.overall != "unknown"))
        if not (named or usual):
            return None
        layers = self._offers.layers(source_name(provider.name, provider.root), model)
        profile = resolve_by(self._settings, provider.name, model, dialect=dialect, layers=layers)
        found = replace(prepare_known(record, profile, self._config), capability=capability)
        if usual and not listed:
            usual = found.model.context_window is not None and found.price.known
        return replace(found, usual=usual, converses=chats) if named or usual else None

    def _is_meant(self, provider: Provider, model: str) -> bool:
        """Whether the settings name a model, in a scope or among those that its provider offers."""
        return find_match(self._named, f"{provider.name}/{model}") is not None or model in provider.models

    def _capability(self, record: ModelRecord, provider: Provider) -> Capability:
        """By the name that a user gave the provider; where nothing is known under it, by the name that its host has."""
        benchmark = self._config.benchmark
        found = capability_of(record, source=benchmark, overrides=self._config.benchmark_overrides)
        common = provider_of(provider.root)
        if found.overall != "unknown" or common == provider.name:
            return found
        return capability_of(replace(record, provider=common), source=benchmark)


def _newest(models: Sequence[str]) -> Iterator[str]:
    """Without those whose id has a date at its end, where the same id without one is there too."""
    known = set(models)
    return (model for model in models if (plain := undated(model)) == model.lower() or plain not in known)


def _reachable(settings: Settings, environ: Mapping[str, str], upstreams: Mapping[Dialect, str]) -> Iterator[Provider]:
    """The providers of the settings, and those that the dialects go to by default.

    A dialect that was sent elsewhere leaves its usual provider, unless the settings name that one.
    """
    moved = {(DEFAULT_UPSTREAMS[dialect], dialect) for dialect, root in upstreams.items()} - {
        (root, dialect) for dialect, root in upstreams.items()
    }
    found: dict[str, Provider] = {}
    for one in find_providers(settings, environ):
        kept = tuple(dialect for dialect in one.dialects if (one.root, dialect) not in moved)
        if one.name in settings.providers or kept:
            found[one.name] = one if one.name in settings.providers else replace(one, dialects=kept)
    for dialect, root in upstreams.items():
        if any(one.root == root and dialect in one.dialects for one in found.values()):
            continue
        name = provider_of(root)
        if name in settings.providers:
            continue
        there = found.get(name) or Provider(name=name, root=root, dialects=(), problem=CLIENT_ALONE)
        if there.root == root:
            there = replace(there, problem="") if there.loopback else there
            found[name] = replace(there, dialects=(*there.dialects, dialect))
    yield from found.values()


def _checked(provider: Provider) -> Provider:
    """The provider, without its key where that must not go to its address."""
    if provider.credential is None:
        return provider
    owner = _KEY_OWNERS.get(provider.credential.variable) or provider_of(provider.root)
    try:
        check_destination(owner, provider.root)
    except CallError as error:
        return replace(provider, credential=None, problem=f"{error.message} {error.hint}".rstrip())
    return provider
