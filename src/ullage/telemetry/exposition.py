"""Prometheus' text format, version 0.0.4: families of samples as a scrape reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

Labels = tuple[tuple[str, str], ...]
Kind = Literal["counter", "gauge", "histogram"]


class Family(Struct, frozen=True, kw_only=True):
    """Samples of one name. Those of a histogram have their own endings: `_bucket`, `_sum`, `_count`."""

    name: str
    kind: Kind
    says: str
    samples: tuple[Sample, ...]


class Sample(Struct, frozen=True):
    """One value. `ending` is added to the family's name."""

    labels: Labels
    value: float
    ending: str = ""


def render(families: Iterable[Family]) -> str:
    """The text of a scrape; families without samples are left out."""
    return "".join(line + "\n" for family in families if family.samples for line in _lines(family))


def make_labels(**values: str | None) -> Labels:
    """Labels in their order; what is not known is empty."""
    return tuple((name, value or "") for name, value in values.items())


def histogram(bounds: tuple[float, ...], counts: Mapping[Labels, Histogram]) -> tuple[Sample, ...]:
    """The samples of histograms by their labels."""
    return tuple(sample for labels, one in sorted(counts.items()) for sample in _of_histogram(bounds, labels, one))


class Histogram:
    """How many values were in each range, up to a bound; the last range has no end."""

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self._bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def add(self, value: float) -> None:
        """Counts a value."""
        place = next((place for place, bound in enumerate(self._bounds) if value <= bound), len(self._bounds))
        self.counts[place] += 1
        self.total += value


def _of_histogram(bounds: tuple[float, ...], labels: Labels, one: Histogram) -> Iterator[Sample]:
    below = 0
    for bound, count in zip((*map(_number, bounds), "+Inf"), one.counts, strict=True):
        below += count
        yield Sample((*labels, ("le", bound)), below, "_bucket")
    yield Sample(labels, one.total, "_sum")
    yield Sample(labels, below, "_count")


def _lines(family: Family) -> Iterator[str]:
    yield f"# HELP {family.name} {_escape(family.says)}"
    yield f"# TYPE {family.name} {family.kind}"
    for sample in family.samples:
        told = ",".join(f'{name}="{_escape(value, quoted=True)}"' for name, value in sample.labels)
        yield f"{family.name}{sample.ending}{'{' + told + '}' if told else ''} {_number(sample.value)}"


def _escape(text: str, *, quoted: bool = False) -> str:
    escaped = text.replace("\\", r"\\").replace("\n", r"\n")
    return escaped.replace('"', r"\"") if quoted else escaped


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(float(value))
