"""What was taken over from other programs' files: as settings in TOML, and put into the user's file."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from ullage.cli.config.toml_text import field_lines, insert_lines, members, toml_key, toml_value
from ullage.cli.setup.files import back_up, write_file
from ullage.core.errors import InputError
from ullage.core.privacy import PrivacySettings, RemoteProvider
from ullage.core.profiles.heuristics import NO_HEURISTICS, Defaults, Heuristics
from ullage.core.profiles.overrides import ModelOverride
from ullage.settings import ORDERS, AccountingSettings, ModelSettings, Settings, catalog, load_file
from ullage.settings.budget import BUDGET_PROVIDERS, BudgetProviderSettings, BudgetSettings
from ullage.settings.privacy import REMOTE_PROVIDERS, is_of_privacy
from ullage.settings.routing import QuotaSettings, RoutingSettings, RuleSettings
from ullage.settings.toml_file import TomlError, check_toml

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from ullage.settings import Loaded

INSPECTOR_HEADING = """\
# Taken over from the Pi inspector. They count with `--estimator inspector-v2`, or always with accounting.estimator set to it.
"""
DS4, AUTO_MODEL = "the DS4 context engine", "Pi Auto Model"
"""Names of programs, for a heading."""


class Taken(Struct, frozen=True, kw_only=True):
    """Settings as they were found: `values` by dotted key, `overrides` of models and `remote_providers` of privacy from DS4,
    `heuristics` from the inspector; values, prices in `overrides`, the tables of `routing` and limits of providers in `budgets`
    from Pi Auto Model. `programs` are those that all but the heuristics are from."""

    heuristics: Heuristics = NO_HEURISTICS
    values: dict[str, Any] = {}
    overrides: dict[str, ModelOverride] = {}
    remote_providers: dict[str, RemoteProvider] = {}
    routing: RoutingSettings = RoutingSettings()
    budgets: dict[str, BudgetProviderSettings] = {}
    programs: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether nothing was found."""
        return msgspec.structs.replace(self, programs=()) == NOTHING


NOTHING = Taken()


class Written(Struct, frozen=True, kw_only=True):
    """What `--write` did: the file, its backup if there was one before, what was not put in because it is there already, and what
    was not because it goes against what is there."""

    file: str
    changed: bool
    backup: str | None = None
    kept: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()


def without_privacy(taken: Taken) -> Taken:
    """The same without anything of the section `privacy`."""
    values = {key: value for key, value in taken.values.items() if not is_of_privacy(key)}
    return msgspec.structs.replace(taken, values=values, remote_providers={})


def toml_text(taken: Taken) -> str:
    """The settings as they stand in a file of their own."""
    return "\n".join(_texts(taken, _sections(taken.values)))


def write_into(file: Path, taken: Taken) -> Written:
    """Adds what is not there yet to the user's file. Raises `InputError`, with what to paste, if that would break the file."""
    own = _own(file)
    kept = tuple(_known(taken, own))
    fresh, left_out = _in_order(_without_known(taken, own), own.settings)
    if _has_privacy(own) and (narrowed := without_privacy(fresh)) != fresh:
        fresh, left_out = narrowed, (*left_out, "[privacy], of which you have set something: set the rest yourself")
    if fresh.is_empty:
        return Written(file=str(file), changed=False, kept=kept, left_out=left_out)
    old = file.read_text(encoding="utf-8-sig") if file.exists() else ""
    new = _added(old, fresh)
    try:
        check_toml(new)
    except TomlError as error:
        raise InputError(
            f"{file} writes these tables in a way that cannot be added to, so it was left as it is.",
            hint=f"Put this into it by hand:\n{toml_text(fresh)}",
        ) from error
    backup = str(back_up(file, old)) if file.exists() else None
    write_file(file, new)
    return Written(file=str(file), changed=True, backup=backup, kept=kept, left_out=left_out)


def _sections(values: Mapping[str, Any]) -> dict[str, list[str]]:
    """The lines of each section, in the order of the settings."""
    sections: dict[str, list[str]] = {}
    for key, setting in catalog().items():
        if key in values:
            sections.setdefault(setting.section, []).append(f"{setting.name} = {toml_value(values[key])}")
    return sections


def _texts(taken: Taken, sections: Mapping[str, list[str]]) -> Iterator[str]:
    """The text of what is from each program, where there is any."""
    settings = Settings(
        models=ModelSettings(overrides=taken.overrides),
        privacy=PrivacySettings(remote_providers=taken.remote_providers),
        routing=taken.routing,
        budget=BudgetSettings(providers=taken.budgets),
    )
    blocks = [_block(f"[{section}]", lines) if section else "\n".join(lines) for section, lines in sections.items()]
    blocks += [_block(header, field_lines(entry)) for _, header, entry in members(settings)]
    if blocks:
        yield f"# Taken over from {' and '.join(taken.programs)}.\n\n" + "\n\n".join(blocks) + "\n"
    inspector = Settings(accounting=AccountingSettings(**msgspec.structs.asdict(taken.heuristics)))
    blocks = [_block("[accounting.defaults]", lines)] if (lines := field_lines(taken.heuristics.defaults)) else []
    blocks += [_block(header, field_lines(member)) for _, header, member in members(inspector)]
    if blocks:
        yield INSPECTOR_HEADING + "\n" + "\n\n".join(blocks) + "\n"


def _block(header: str, lines: list[str]) -> str:
    return "\n".join([header, *lines])


def _added(old: str, fresh: Taken) -> str:
    """A file's text with more settings in it: in the sections that it has, the others at its end."""
    sections = _sections(fresh.values)
    for section in list(sections) if old.strip() else ():
        longer = insert_lines(old, section, sections[section])
        if longer is not None:
            old = longer
            del sections[section]
    text = "\n".join(_texts(fresh, sections))
    if not text:
        return old
    return f"{old.rstrip()}\n\n{text}" if old.strip() else text


def _own(file: Path) -> Loaded:
    """What the user's own file says, without project and environment. Raises `InputError` for one that cannot be read."""
    loaded = load_file(file, required=False)
    for problem in loaded.problems:
        if problem.code == "unreadable":
            raise InputError(f"{problem.source}: {problem.message}", hint="Mend it first, then try again.")
    return loaded


def _known(taken: Taken, own: Loaded) -> Iterator[str]:
    """What of it the user's file says already: nothing there is changed."""
    yield from (key for key in taken.values if _is_set(key, own))
    yield from (
        f"[models.overrides.{toml_key(key)}]" for key in taken.overrides if key in own.settings.models.overrides
    )
    yield from (
        f"[{REMOTE_PROVIDERS}.{toml_key(name)}]"
        for name in taken.remote_providers
        if name in own.settings.privacy.remote_providers
    )
    yield from (header for key, header, member in _routed(taken.routing) if _is_there(key, member, own))
    yield from (
        f"[{BUDGET_PROVIDERS}.{toml_key(name)}]" for name in taken.budgets if name in own.settings.budget.providers
    )
    there = own.settings.accounting
    if there.defaults != Defaults() and taken.heuristics.defaults != Defaults():
        yield "[accounting.defaults]"
    yield from (f"[accounting.profiles.{name}]" for name in taken.heuristics.profiles if name in there.profiles)
    yield from (
        f"[accounting.tool_shapes.{name}]" for name in taken.heuristics.tool_shapes if name in there.tool_shapes
    )
    yield from ("[[accounting.rules]]" for rule in taken.heuristics.rules if rule in there.rules)


def _without_known(taken: Taken, own: Loaded) -> Taken:
    there, found = own.settings.accounting, taken.heuristics
    return Taken(
        values={key: value for key, value in taken.values.items() if not _is_set(key, own)},
        overrides={key: one for key, one in taken.overrides.items() if key not in own.settings.models.overrides},
        remote_providers={
            name: one
            for name, one in taken.remote_providers.items()
            if name not in own.settings.privacy.remote_providers
        },
        heuristics=Heuristics(
            profiles={name: one for name, one in found.profiles.items() if name not in there.profiles},
            tool_shapes={name: one for name, one in found.tool_shapes.items() if name not in there.tool_shapes},
            defaults=found.defaults if there.defaults == Defaults() else Defaults(),
            rules=tuple(rule for rule in found.rules if rule not in there.rules),
        ),
        routing=_without_known_tables(taken.routing, own),
        budgets={name: one for name, one in taken.budgets.items() if name not in own.settings.budget.providers},
        programs=taken.programs,
    )


def merge_tables(several: Sequence[RoutingSettings]) -> RoutingSettings:
    """The tables of several files: named members of a later one replace those of an earlier one, its rules come after."""
    merged = RoutingSettings()
    for one in several:
        merged = RoutingSettings(
            targets=merged.targets | one.targets,
            pools=merged.pools | one.pools,
            rules=(*merged.rules, *one.rules),
            scenarios=merged.scenarios | one.scenarios,
            quota=QuotaSettings(providers=merged.quota.providers | one.quota.providers),
        )
    return merged


def _routed(tables: RoutingSettings) -> Iterator[tuple[str, str, Struct]]:
    """Key, header and fields of every member of the tables."""
    return members(Settings(routing=tables))


def _is_there(key: str, member: Struct, own: Loaded) -> bool:
    """Whether the user's file has a member already; a rule goes by its name."""
    if isinstance(member, RuleSettings):
        return member.name in {rule.name for rule in own.settings.routing.rules}
    return key in own.sources


def _without_known_tables(tables: RoutingSettings, own: Loaded) -> RoutingSettings:
    there = own.settings.routing
    names = {rule.name for rule in there.rules}
    return RoutingSettings(
        targets={name: one for name, one in tables.targets.items() if name not in there.targets},
        pools={name: one for name, one in tables.pools.items() if name not in there.pools},
        rules=tuple(rule for rule in tables.rules if rule.name not in names),
        scenarios={name: one for name, one in tables.scenarios.items() if name not in there.scenarios},
        quota=QuotaSettings(
            providers={name: one for name, one in tables.quota.providers.items() if name not in there.quota.providers}
        ),
    )


def _is_set(key: str, own: Loaded) -> bool:
    return own.sources[key].kind != "default"


def _has_privacy(own: Loaded) -> bool:
    """Whether the user's file says anything of privacy, good or not: what is added could let more through than was meant."""
    said = [key for key in own.sources if _is_set(key, own)] + [problem.key or "" for problem in own.problems]
    return any(map(is_of_privacy, said))


def _in_order(fresh: Taken, settings: Settings) -> tuple[Taken, tuple[str, ...]]:
    """Without what would break an order with the user's own values, so that none of them would be heard; and what that is."""
    values, left_out = dict(fresh.values), []
    for order in ORDERS:
        if not order.holds([values.get(key, attrgetter(key)(settings)) for key in order.keys]):
            told = [f"{key} = {toml_value(values.pop(key))}" for key in order.keys if key in values]
            left_out += [f"{one}, which breaks {order} with your own" for one in told]
    return msgspec.structs.replace(fresh, values=values), tuple(left_out)
