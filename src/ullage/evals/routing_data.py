"""Published outcomes of several models on the same tasks, as far as a folder holds them: who solved what, for how much.

SWE-bench's are licensed for evaluation only (CC BY-NC 4.0): they are read where they lie, and nothing of them is kept.
"""

from __future__ import annotations

import csv
import hashlib
import io
import lzma
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ullage.core.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

Unit = Literal["USD", "strong calls", "calls"]
"""What a set says that an answer costs: money, else 1 for the dearer of two models and 0 for the other, else 1 for any."""

SWE_BENCH, LLMROUTER, GSM8K, AIDER = "swe_bench_verified", "llmrouter_nine_models", "gsm8k_two_models", "aider_polyglot"

WEAK, STRONG = "mistralai/Mixtral-8x7B-Instruct-v0.1", "gpt-4-1106-preview"

_PAIR = ("llama-3.1-8b-instruct", "llama-3.1-nemotron-51b-instruct")

_R = TypeVar("_R", bound=Struct)


class Outcome(NamedTuple):
    """What one model made of one task: its score, 0 to 1, what it spent in the unit of the set, and its calls where they are
    known."""

    quality: float
    spend: float
    calls: int | None = None


class Item(Struct, frozen=True, kw_only=True):
    """One task, with an outcome for each model of the set, in their order. `group` is the repository where there is one."""

    id: str
    group: str | None
    prompt: str
    outcomes: tuple[Outcome, ...]


class RoutingSet(Struct, frozen=True, kw_only=True):
    """Tasks that the same models were given."""

    name: str
    source: str
    licence: str
    unit: Unit
    models: tuple[str, ...]
    items: tuple[Item, ...]


class AiderRun(Struct, frozen=True, kw_only=True):
    """One run of Aider's polyglot benchmark: the share of exercises solved in percent, and what all of them cost."""

    model: str
    date: str
    edit_format: str
    effort: str
    pass_rate: float
    cost_usd: float | None
    cases: int


class Found(Struct, frozen=True, kw_only=True):
    """What a folder holds of the known files, and the names of those that it lacks."""

    sets: tuple[RoutingSet, ...]
    aider: tuple[AiderRun, ...]
    missing: tuple[str, ...]


def read_folder(folder: Path) -> Found:
    """The sets of a folder. Raises `InputError` if there is none, or if a file holds something else."""
    sets: list[RoutingSet] = []
    aider: tuple[AiderRun, ...] = ()
    missing = []
    for name, read in _READERS.items():
        path = _find(folder, name)
        if path is None:
            missing.append(name)
            continue
        data = read(path)
        if not data.items:
            raise InputError(f"{path} holds no outcomes.", hint="Give the whole file, or take it out of the folder.")
        sets.append(data)
    path = _find(folder, AIDER)
    if path is None:
        missing.append(AIDER)
    else:
        aider = read_aider(path)
    if not sets:
        raise InputError(
            f"{folder} holds no outcomes of models.",
            hint=f"Give a folder with {', '.join(_READERS)} (.csv, .jsonl or .jsonl.xz).",
            code="not_found",
        )
    return Found(sets=tuple(sets), aider=aider, missing=tuple(missing))


def read_swe_bench(path: Path) -> RoutingSet:
    """Issues of SWE-bench Verified with outcome, cost and calls of real runs. There are no prompts: an issue is known by its
    repository and its number."""
    found: dict[str, dict[str, Outcome]] = {}
    for number, row in enumerate(_rows(path), start=2):
        try:
            outcome = Outcome(
                quality=float(row["resolved"]),
                spend=float(row["cost_usd"]),
                calls=int(row["calls"]),
            )
            found.setdefault(row["instance"], {})[row["model"]] = outcome
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"{path}, line {number} is no outcome: {error!r}.") from error
    models = _models_of(found.values())
    items = [
        Item(
            id=instance,
            group=repository_of(instance),
            prompt=f"Fix this issue in {repository_of(instance)}",
            outcomes=_in_order(path, instance, outcomes, models),
        )
        for instance, outcomes in found.items()
    ]
    return RoutingSet(
        name=SWE_BENCH,
        source="SWE-bench/swe-bench.github.io, data/info_for_leaderboard.json",
        licence="CC BY-NC 4.0, evaluation only",
        unit="USD",
        models=models,
        items=tuple(items),
    )


def repository_of(instance: str) -> str:
    """`django/django` of `django__django-11001`."""
    return instance.rpartition("-")[0].replace("__", "/")


class _Scores(Struct, frozen=True, kw_only=True):
    question: str
    scores: dict[str, float]


def read_llmrouter(path: Path) -> RoutingSet:
    """Questions with the score of nine open models. What they cost is not known."""
    records = _lines(path, _Scores)
    models = _models_of(record.scores for record in records)
    items = []
    for record in records:
        outcomes = {model: Outcome(score, 1.0) for model, score in record.scores.items()}
        name = _name_of(record.question)
        items.append(
            Item(
                id=name,
                group=None,
                prompt=record.question,
                outcomes=_in_order(path, name, outcomes, models),
            )
        )
    return RoutingSet(
        name=LLMROUTER,
        source="ulab-uiuc/LLMRouter, dcrouter train set",
        licence="MIT",
        unit="calls",
        models=models,
        items=tuple(items),
    )


def pair_of(data: RoutingSet) -> RoutingSet | None:
    """The set as a choice between a weak and a strong model, `None` where it has no such pair. Of the nine open models they are
    two of one family."""
    if data.unit == "strong calls":
        return data
    weak, strong = _PAIR
    if not {weak, strong} <= set(data.models):
        return None
    places = data.models.index(weak), data.models.index(strong)
    items = tuple(
        replace(
            item,
            outcomes=tuple(
                item.outcomes[place]._replace(spend=float(place == places[1]), calls=None) for place in places
            ),
        )
        for item in data.items
    )
    return replace(data, unit="strong calls", models=_PAIR, items=items)


def read_gsm8k(path: Path) -> RoutingSet:
    """Questions of school mathematics with the correctness of a weak and a strong model."""
    items = []
    for record in _lines(path, _Pair):
        outcomes = (Outcome(_correct(record.weak), 0.0), Outcome(_correct(record.strong), 1.0))
        items.append(
            Item(
                id=_name_of(record.prompt),
                group=None,
                prompt=record.prompt,
                outcomes=outcomes,
            )
        )
    return RoutingSet(
        name=GSM8K,
        source="lm-sys/RouteLLM, gsm8k_responses.csv",
        licence="Apache-2.0",
        unit="strong calls",
        models=(WEAK, STRONG),
        items=tuple(items),
    )


class _Pair(Struct, frozen=True, kw_only=True):
    prompt: str
    weak: bool | Literal["True", "False"] = msgspec.field(name=WEAK)
    strong: bool | Literal["True", "False"] = msgspec.field(name=STRONG)


def read_aider(path: Path) -> tuple[AiderRun, ...]:
    """Runs of Aider's polyglot benchmark, in the order of the file."""
    runs = []
    for number, row in enumerate(_rows(path), start=2):
        try:
            runs.append(
                AiderRun(
                    model=row["model"],
                    date=row["date"],
                    edit_format=row["edit_format"],
                    effort=row["reasoning_effort"],
                    pass_rate=float(row["pass_rate_2"]),
                    cost_usd=float(row["total_cost_usd"]) if row["total_cost_usd"] else None,
                    cases=int(row["test_cases"]),
                )
            )
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"{path}, line {number} is no run: {error!r}.") from error
    return tuple(runs)


_READERS: Mapping[str, Callable[[Path], RoutingSet]] = {
    SWE_BENCH: read_swe_bench,
    LLMROUTER: read_llmrouter,
    GSM8K: read_gsm8k,
}


def _find(folder: Path, name: str) -> Path | None:
    return next(
        (path for suffix in (".csv", ".jsonl.xz", ".jsonl") if (path := folder / f"{name}{suffix}").is_file()), None
    )


def _read(path: Path) -> bytes:
    try:
        data = path.read_bytes()
        return lzma.decompress(data) if path.suffix == ".xz" else data
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}.", code="not_found") from error
    except (lzma.LZMAError, EOFError) as error:
        raise InputError(f"{path} cannot be read: {error}.") from error


def _rows(path: Path) -> Iterable[dict[str, str]]:
    return csv.DictReader(io.StringIO(_read(path).decode("utf-8", "replace")))


def _lines(path: Path, kind: type[_R]) -> list[_R]:
    decoder = msgspec.json.Decoder(kind)
    records = []
    for number, line in enumerate(_read(path).splitlines(), start=1):
        if not line.strip():
            continue
        try:
            records.append(decoder.decode(line))
        except msgspec.MsgspecError as error:
            raise InputError(f"{path}, line {number} is no question with its outcomes: {error}.") from error
    return records


def _models_of(outcomes: Iterable[Iterable[str]]) -> tuple[str, ...]:
    return tuple(sorted({model for one in outcomes for model in one}))


def _in_order(path: Path, item: str, outcomes: Mapping[str, Outcome], models: Sequence[str]) -> tuple[Outcome, ...]:
    missing = [model for model in models if model not in outcomes]
    if missing:
        raise InputError(f"{path}: {item} has no outcome of {', '.join(missing)}.")
    return tuple(outcomes[model] for model in models)


def _name_of(prompt: str) -> str:
    """A name for a task that has none: of its words, so that the same question is always the same task."""
    return hashlib.sha256(prompt.encode()).hexdigest()[:16]


def _correct(said: bool | str) -> float:
    return float(said in (True, "True"))
