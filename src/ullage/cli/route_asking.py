"""What `ullage route` asks, one prompt or many, among which models and by which rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, cast

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ullage.core.errors import CallError, InputError, UllageError
from ullage.core.routing.filtering import Candidate
from ullage.core.routing.models import read_models
from ullage.core.routing.report import report_route
from ullage.core.routing.route import RouteConfig, RouteSession, prepare_candidates, resolve_route
from ullage.core.routing.settings_reading import RouteSettings, read_settings
from ullage.core.routing.suggesting import suggest
from ullage.settings import load_settings
from ullage.settings.route_config import make_route_config, usual_policy

from .inputs import read_input

if TYPE_CHECKING:
    from ullage.core.routing.cache_terms import CacheModel
    from ullage.core.routing.route import Route
    from ullage.settings import Settings


class Ask(Struct, frozen=True, kw_only=True):
    """One prompt, and where the session stands. A line of a batch has these fields too."""

    prompt: str = ""
    context_tokens: int = 0
    images: int = 0
    policy: str = "balanced"
    current: str | None = None
    cold: bool = False


_FIELDS = ("id", *Ask.__struct_fields__)


class Router(Struct, frozen=True, kw_only=True):
    """Who may take the prompts, and by which rules. `warnings` are of the files that said so."""

    candidates: tuple[Candidate, ...]
    config: RouteConfig
    warnings: tuple[str, ...] = ()
    explain: bool = False

    def resolve(self, ask: Ask) -> Route:
        """The route of a prompt, with the warnings of the files."""
        route = resolve_route(
            self.candidates,
            ask.prompt,
            context_tokens=ask.context_tokens,
            images=ask.images,
            policy=ask.policy,
            session=RouteSession(first_turn=ask.current is None, current=ask.current, cold=ask.cold),
            config=self.config,
        )
        return replace(route, warnings=(*self.warnings, *route.warnings)) if self.warnings else route

    def report(self, route: Route) -> dict[str, Any]:
        return report_route(route, explain=self.explain)


def load_router(
    models: str | None, config: str | None, alias: str | None, cache_model: str | None, *, explain: bool
) -> tuple[Router, str]:
    """The models of a file, or those of the settings, by the other file or the settings of routing; and the usual policy.

    Raises `CallError` where there are no models and for an alias that there is not, `InputError` for a file that cannot be used.
    """
    settings = load_settings().settings
    if config is None:
        settled = RouteSettings(config=make_route_config(settings, alias), policy=usual_policy(settings, alias))
    elif alias is not None:
        raise CallError("route: --alias goes by the settings, not by --config.", hint="Leave one of them out.")
    else:
        settled = read_settings(read_input(config))
    chosen = settled.config
    if cache_model is not None:
        chosen = replace(chosen, cache_model=cast("CacheModel", cache_model))
    candidates, warnings = _load_candidates(models, chosen, settings)
    router = Router(candidates=candidates, config=chosen, warnings=(*warnings, *settled.problems), explain=explain)
    return router, settled.policy or "balanced"


def _load_candidates(
    models: str | None, config: RouteConfig, settings: Settings
) -> tuple[tuple[Candidate, ...], tuple[str, ...]]:
    if models is not None:
        listed = read_models(read_input(models))
        return prepare_candidates(listed.models, config), listed.warnings
    from .route_models import find_candidates

    try:
        found = find_candidates(settings, config)
    except CallError as error:
        hint = f"{error.hint} Or give models with --models FILE."
        raise CallError(f"route: {error.message}", hint=hint, code=error.code) from error
    return found.candidates, found.notes


class LineAnswer(NamedTuple):
    """The answer to one line of a batch: JSON without a line end, and whether it is a route."""

    text: bytes
    is_route: bool


def answer_line(line: bytes, router: Router, default: Ask) -> LineAnswer:
    """The answer to one line; whatever is wrong with the line becomes its `error`."""
    row: dict[str, Any] = {}
    try:
        row = _read(line)
        route = router.resolve(_ask(row, default))
        return LineAnswer(msgspec.json.encode({"id": row.get("id"), **router.report(route)}), is_route=True)
    except UllageError as error:
        told = {"id": row.get("id"), "error": f"{error.message} {error.hint}".rstrip()}
    except Exception as error:  # noqa: BLE001 - one odd line must not end a batch of thousands
        told = {"id": None, "error": f"{type(error).__name__}: {error}"}
    return LineAnswer(msgspec.json.encode(told), is_route=False)


def _read(line: bytes) -> dict[str, Any]:
    try:
        return msgspec.json.decode(line, type=dict[str, Any])
    except msgspec.MsgspecError as error:
        raise InputError(f"The line is no JSON object: {error}.") from error


def _ask(row: dict[str, Any], default: Ask) -> Ask:
    unknown = next((name for name in row if name not in _FIELDS), None)
    if unknown is not None:
        meant = suggest(unknown, _FIELDS)
        hint = f"Did you mean {meant!r}?" if meant is not None else f"Known are {', '.join(_FIELDS)}."
        raise InputError(f"There is no field {unknown!r}.", hint=hint)
    images = row.get("images")
    fields = {name: row[name] for name in Ask.__struct_fields__ if row.get(name) is not None}
    if isinstance(images, bool):
        fields["images"] = int(images)
    try:
        ask = msgspec.convert({**msgspec.structs.asdict(default), **fields}, Ask)
    except msgspec.ValidationError as error:
        raise InputError(f"The line cannot be used: {error}.") from error
    if "prompt" not in fields:
        raise InputError("The line has no `prompt`.")
    if ask.context_tokens < 0 or ask.images < 0:
        raise InputError("`context_tokens` and `images` are numbers from 0 on.")
    return ask
