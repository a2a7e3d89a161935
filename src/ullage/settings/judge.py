"""Which values of a layer may be used: each entry is judged alone, and left out alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from ullage.core.errors import SettingsError
from ullage.core.privacy.hosts import is_loopback

from .budget import AMOUNTS, ON_EXCEED, is_as_strong
from .budget import SECTION as BUDGET
from .catalog import UPSTREAMS, Setting, catalog, convert, example_of, sections, shown, variables
from .orders import drop_disorder
from .paths import absolute_folder
from .privacy import PROJECT_RAISES, is_as_strict
from .privacy import SECTION as PRIVACY
from .provenance import Choice, Problem, ProblemCode
from .routing_checks import PROJECT_SAYS, PROVIDERS, is_tightened, refuse_to_project, tighten
from .tables import TABLES, judge_tables, split
from .telemetry import PATHS
from .upstreams import SHORT_NAMES
from .well_known import WELL_KNOWN

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from .layers import Entry, Layer

# A project belongs to whoever wrote it, so its file may make ullage more careful, and say how to count what it shows.
PROJECT_KEYS = frozenset({"mode", "accounting.number_style"})
PROJECT_SECTIONS = ("accounting.defaults",)
PROJECT_LOWERS = frozenset(
    {
        "planning.target_fill_ratio",
        "planning.soft_limit_ratio",
        "planning.hard_limit_ratio",
        "planning.recent_tail_tokens",
        "planning.max_retrieved_history_tokens",
        "planning.max_project_tokens",
        *AMOUNTS,
    }
)
"""What it may lower, and never raise."""

# Settings whose default is no safe stand-in for a value that cannot be used: see `Problem.blocking`.
NO_STAND_IN = (
    "data_dir",
    "server.host",
    "store.url",
    f"{UPSTREAMS}.",
    f"{PRIVACY}.",
    f"{BUDGET}.",
    "routing.models",
    "routing.constraints.",
    *(f"{PROVIDERS}.{name}." for name in WELL_KNOWN),  # without its address it would be asked at its usual one
)


# The next step for a key that is spelled like no other.
KNOWN = "`ullage config show` prints every setting."


class EntryError(Exception):
    """An entry cannot be used."""

    def __init__(self, code: ProblemCode, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint


def judge(layer: Layer, *, home: Path, below: Mapping[str, Choice]) -> tuple[dict[str, Choice], list[Problem]]:
    """What the layer sets, upstreams by dialect, and what is wrong with the rest of it. `below` is what earlier ones have set."""
    chosen: dict[str, Choice] = {}
    problems: list[Problem] = []
    tabled, entries = split(layer.entries)
    for entry in entries:
        if entry.value == {} and entry.key in sections():
            continue  # a header with nothing below it sets nothing
        try:
            value = usable(entry, home, below)
        except EntryError as refused:
            problems.append(
                blocking_if_unsafe(
                    Problem(
                        code=refused.code,
                        key=entry.key,
                        source=entry.source,
                        message=refused.message,
                        hint=refused.hint,
                    )
                )
            )
        else:
            chosen[entry.key] = Choice(value, entry.source)
    problems += drop_disorder(chosen, below)
    items, refusals = judge_tables(tabled, layer.kind, below)
    return spell_out(chosen) | items, problems + [blocking_if_unsafe(refusal) for refusal in refusals]


def blocking_if_unsafe(problem: Problem) -> Problem:
    unsafe = problem.code != "not_allowed" and (problem.key or "").startswith(NO_STAND_IN)
    return replace(problem, blocking=True) if unsafe else problem


def spell_out(chosen: dict[str, Choice]) -> dict[str, Choice]:
    """Short names of upstreams replaced by the dialects they stand for; a dialect's own name in the same layer wins."""
    spelled = dict(chosen)
    for name, dialects in SHORT_NAMES.items():
        short = spelled.pop(f"{UPSTREAMS}.{name}", None)
        if short is not None:
            spelled = {f"{UPSTREAMS}.{dialect}": short for dialect in dialects} | spelled
    return spelled


def usable(entry: Entry, home: Path, below: Mapping[str, Choice]) -> Any:
    """The entry's value in its setting's type. Raises `EntryError`."""
    setting = catalog().get(entry.key)
    if setting is None:
        raise unknown(entry)
    if entry.source.kind == "project" and not may_be_the_projects(setting):
        raise EntryError(
            "not_allowed", f"A project file may not set {entry.key}.", "It belongs in the user's own file."
        )
    value = converted(setting, entry)
    if entry.source.kind == "project" and entry.key in PROJECT_LOWERS:
        check_is_lower(setting, value, below)
    if entry.source.kind == "project" and entry.key in PROJECT_RAISES | {ON_EXCEED}:
        check_is_as_strict(setting, value, below)
    if entry.source.kind == "project" and entry.key in PROJECT_SAYS:
        return of_project(setting, value, below)
    if entry.key in PATHS and value:
        return str(absolute_folder(value, home=home, base=entry.base))
    return loopback(value) if entry.key == "server.host" else value


def may_be_the_projects(setting: Setting) -> bool:
    return (
        setting.key in PROJECT_KEYS | PROJECT_LOWERS | PROJECT_RAISES | PROJECT_SAYS | {ON_EXCEED}
        or setting.section in PROJECT_SECTIONS
    )


def check_is_lower(setting: Setting, value: Any, below: Mapping[str, Choice]) -> None:
    """Raises `EntryError` for a value above the one that holds without the project."""
    most = held(setting, below)
    if most is not None and value > most:
        raise EntryError(
            "not_allowed",
            f"A project file may only lower {setting.key}, here to {shown(most)} or less.",
            "It belongs in the user's own file.",
        )


def check_is_as_strict(setting: Setting, value: Any, below: Mapping[str, Choice]) -> None:
    """Raises `EntryError` for a value that keeps back less than the one that holds without the project."""
    least = held(setting, below)
    as_strict = is_as_strong(value, least) if setting.key == ON_EXCEED else is_as_strict(setting.key, value, least)
    if not as_strict:
        raise EntryError(
            "not_allowed",
            f"A project file may only make {setting.key} stricter, which is {shown(least)}.",
            "It belongs in the user's own file.",
        )


def of_project(setting: Setting, value: Any, below: Mapping[str, Choice]) -> Any:
    """What a project's value of routing comes to beside the user's. Raises `EntryError` for one that would loosen."""
    holds = held(setting, below)
    reason = refuse_to_project(setting.key, value, holds)
    if reason is not None:
        raise EntryError("not_allowed", reason, "It belongs in the user's own file.")
    return tighten(setting.key, value, holds) if is_tightened(setting.key) else value


def held(setting: Setting, below: Mapping[str, Choice]) -> Any:
    """The value that a setting has without the layer that is judged."""
    return below[setting.key].value if setting.key in below else setting.default


def loopback(host: str) -> str:
    """A host without the brackets that an address has in a URL. Raises `EntryError` if others could reach it."""
    if is_loopback(host):
        return host.strip("[]")
    raise EntryError(
        "bad_value", f"server.host must be a loopback address, not {shown(host)}.", "For example 127.0.0.1."
    )


def converted(setting: Setting, entry: Entry) -> Any:
    try:
        return convert(setting, entry.value, lenient=entry.source.kind == "environment")
    except ValueError as error:
        raise EntryError("bad_value", str(error), example_of(setting)) from error
    except SettingsError as error:
        raise EntryError("bad_value", f"{setting.key}: {error.message}", error.hint) from error


def unknown(entry: Entry) -> EntryError:
    """Why no setting has this key, with the nearest one that exists."""
    if entry.key in sections():
        return EntryError(
            "bad_value", f"{entry.key} is a section, not a value.", f"Write [{entry.key}] and its keys below it."
        )
    if entry.source.kind == "environment":
        kind, known = "a variable that ullage reads", list(variables())
    else:
        kind, known = "a setting", [*catalog(), *filter(None, sections()), *TABLES]
    nearest = suggest(entry.key, known)
    return EntryError("unknown_key", f"{entry.key} is not {kind}.", f"Did you mean {nearest}?" if nearest else KNOWN)


def suggest(key: str, known: list[str]) -> str | None:
    """The known key that was most likely meant: one in another section with the same name, else the one spelled most alike."""
    import difflib  # only when something is wrong: it costs start-up time

    same_name = [name for name in known if name.rpartition(".")[2] == key.rpartition(".")[2]]
    if len(same_name) == 1:
        return same_name[0]
    return next(iter(difflib.get_close_matches(key, known, n=1)), None)
