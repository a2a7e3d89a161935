"""Whom `ullage route` weighs without a file of models: the targets of the settings, or those that calls went to."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ullage.core.errors import CallError
from ullage.core.routing.knowing import prepare_known
from ullage.core.routing.models import ModelRecord
from ullage.core.wire import DIALECTS
from ullage.engine.targets import CLIENT_ALONE, ConfiguredTargets
from ullage.settings import environment
from ullage.settings.credentials import KEY_VARIABLES

from .model_knowledge import open_knowledge
from .records import now_ms

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ullage.core.routing.filtering import Candidate
    from ullage.core.routing.route import RouteConfig
    from ullage.core.wire import Dialect
    from ullage.engine.known import Known
    from ullage.settings import Settings


_ONLY_SEEN = (
    "no provider can be reached with a key of yours: those models are weighed that calls went to or overrides name"
)


class Found(NamedTuple):
    """Whom there is to choose among, and what is to be said of that. `surmised`: nobody can be reached from here, and these are
    known from calls and settings alone."""

    candidates: tuple[Candidate, ...]
    notes: tuple[str, ...] = ()
    surmised: bool = False


def find_candidates(
    settings: Settings,
    config: RouteConfig,
    *,
    dialects: Sequence[Dialect] = DIALECTS,
    data_dir: str | None = None,
    environ: Mapping[str, str] | None = None,
    keyless: bool = False,
) -> Found:
    """Every target that can be reached in one of these dialects: with a key of ours, on this machine, or with a client's own key
    where calls went lately; with `keyless` also those that only want a key.

    Where there is none, the models that were called lately or have settings of their own; and what is to be said of that. Raises
    `CallError` where there are none either.
    """
    known = open_knowledge(data_dir, now_ms=now_ms())
    targets = ConfiguredTargets(settings, environment() if environ is None else environ, known.catalogs, config)
    called = {provider for provider, _ in known.seen()}
    found = {one.target: one for one in _reachable(targets, dialects, called, keyless=keyless)}
    if found:
        return Found(tuple(found.values()))
    seen = dict.fromkeys((*known.seen(), *_named(settings)))
    if not seen:
        raise _nobody(targets)
    return Found(tuple(_seen(known, provider, model, config) for provider, model in seen), (_ONLY_SEEN,), surmised=True)


def _reachable(
    targets: ConfiguredTargets, dialects: Sequence[Dialect], called: set[str], *, keyless: bool
) -> Iterator[Candidate]:
    for dialect in dialects:
        for one in targets.candidates(dialect, client_key=True):
            ours = targets.destination(one.target, dialect, client_key=False)
            if keyless or ours is not None or (one.model.authenticated and one.model.provider in called):
                yield one


def _named(settings: Settings) -> Iterator[tuple[str, str]]:
    """The targets that overrides name exactly."""
    for key in settings.models.overrides:
        provider, _, model = key.partition("/")
        if model and "*" not in key:
            yield provider, model


def _seen(known: Known, provider: str, model: str, config: RouteConfig) -> Candidate:
    profile = known.learned(provider, model).awareness.profile
    return prepare_known(ModelRecord(provider=provider, id=model), profile, config)


def _nobody(targets: ConfiguredTargets) -> CallError:
    """Why there is nobody to choose among, and what each provider lacks that somebody meant to use."""
    meant = [one for one in targets.providers if one.problem != CLIENT_ALONE]
    lacking = [f"{one.name}: {one.problem or 'Too little is known of its models.'}" for one in meant]
    keys = ", ".join(variables[0] for variables in list(KEY_VARIABLES.values())[:3])
    return CallError(
        " ".join(["No provider can be reached, and none was called yet.", *lacking]),
        hint=f"Set a key ({keys}, …), or name a provider under [providers].",
        code="scope-empty",
    )
