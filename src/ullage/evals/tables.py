"""An evaluation of transcripts as tables, for a terminal and for the manual."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from ullage.core.calibration import METHOD

from .calibrated import BAR, judged_after, spreads, summarize
from .methods import FITTED, METHODS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from .calibrated import CalibratedFile, Spread
    from .scores import Scores
    from .transcripts import Evaluation, Transcript

_MISSING = "-"


class Table(Struct, frozen=True, kw_only=True):
    """A header and rows of cells; the first `texts` columns are words, the others figures."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    texts: int = 1

    def as_text(self) -> str:
        """Columns of equal width, figures to the right."""
        lines = [self.header, *self.rows]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        return "\n".join("  ".join(self._aligned(line, widths)).rstrip() for line in lines)

    def as_markdown(self) -> str:
        """A table of the manual."""
        rule = ["---" if index < self.texts else "---:" for index in range(len(self.header))]
        return "\n".join(f"| {' | '.join(cells)} |" for cells in (self.header, rule, *self.rows))

    def _aligned(self, cells: Sequence[str], widths: Sequence[int]) -> Iterator[str]:
        for index, (cell, width) in enumerate(zip(cells, widths, strict=True)):
            yield cell.ljust(width) if index < self.texts else cell.rjust(width)


def method_table(scores: Mapping[str, Scores]) -> Table:
    """Every method over the same calls. The share of the growth says nothing of methods that do not start from the last usage."""
    rows = [
        (
            METHODS[method],
            f"{one.calls:,}",
            f"{one.mae:,.0f}",
            f"{one.median_ae:,.0f}",
            f"{one.p90_ae:,.0f}",
            _percent(one.mape),
            f"{one.bias:+,.0f}",
            _MISSING if method in FITTED else _share(one.missed),
        )
        for method, one in scores.items()
    ]
    return Table(header=("method", "calls", "MAE", "median", "p90", "MAPE", "bias", "missed growth"), rows=tuple(rows))


def client_table(evaluation: Evaluation) -> Table:
    """The learned method over every client's calls, beside the simplest ones, with its intervals."""
    rows = [
        (
            client,
            f"{scores[METHOD].calls:,}",
            *(_percent(scores[method].mape) for method in ("usage+chars/4", "usage+o200k", METHOD)),
            *(_share(scores[method].missed) for method in ("usage+chars/4", "usage+o200k", METHOD)),
            _share(evaluation.intervals[client].inside),
            f"{evaluation.intervals[client].median_width:,.0f}",
        )
        for client, scores in evaluation.pooled.items()
        if METHOD in scores
    ]
    header = (
        "client", "calls", "MAPE: chars ÷ 4", "o200k", "growth-v1", "missed: chars ÷ 4", "o200k", "growth-v1",
        "inside interval", "width",
    )  # fmt: skip
    return Table(header=header, rows=tuple(rows))


def file_table(evaluation: Evaluation) -> Table:
    """Every transcript: the fitted methods by their MAPE over all its calls, the others over its judged calls."""
    rows = [
        (
            _name(transcript),
            transcript.client,
            _shortened(transcript.identity.model or _MISSING, 26),
            str(transcript.calls),
            str(transcript.judged),
            *(_percent_of(transcript.fitted.get(method)) for method in FITTED),
            *(_percent_of(transcript.scores.get(method)) for method in ("usage+chars/4", "usage+o200k", METHOD)),
            _share(transcript.scores[METHOD].missed) if METHOD in transcript.scores else _MISSING,
        )
        for transcript in evaluation.transcripts
    ]
    header = (
        "file", "client", "model", "calls", "judged", "chars ÷ 4 + c", "seed + c", "o200k + c", "last + ÷ 4",
        "last + o200k", "growth-v1", "missed growth",
    )  # fmt: skip
    return Table(header=header, rows=tuple(rows), texts=3)


def summary_table(evaluation: Evaluation) -> Table:
    """The fitted methods over all transcripts of one model (accounting specification, section 16.1)."""
    rows = [
        (
            METHODS[method],
            str(one.transcripts),
            f"{one.calls:,}",
            f"{one.median_mae:,.0f}",
            f"{one.weighted_mae:,.0f}",
            _percent(one.median_mape),
            _MISSING if method == "chars/4" else f"{one.wins} : {one.losses}",
        )
        for method, one in evaluation.summary.items()
    ]
    header = (
        "method", "transcripts", "calls", "median MAE", "MAE of all calls", "median MAPE", "wins : losses to chars ÷ 4",
    )  # fmt: skip
    return Table(header=header, rows=tuple(rows))


def miss_table(evaluation: Evaluation) -> Table:
    """Where the learned method's error lies: by what its calls turned out to be."""
    whole = sum(one.mae * one.calls for one in evaluation.misses.values()) or 1.0
    rows = [
        (
            trap,
            f"{one.calls:,}",
            f"{one.mae:,.0f}",
            f"{one.median_ae:,.0f}",
            f"{one.bias:+,.0f}",
            _share(one.mae * one.calls / whole),
        )
        for trap, one in sorted(evaluation.misses.items(), key=lambda entry: -entry[1].mae * entry[1].calls)
    ]
    return Table(header=("trap", "calls", "MAE", "median", "bias", "share of the error"), rows=tuple(rows))


def calibrated_table(files: Sequence[CalibratedFile], after: int) -> Table:
    """Every file: raw and calibrated estimates of whole requests behind so many calls, by the median and the ninth decile of
    their relative errors."""
    judged = [(file, judgement, spreads(judgement)) for file, judgement in judged_after(files, after)]
    methods = list(dict.fromkeys(method for _, _, found in judged for method in found))
    rows = [
        (
            _shortened(Path(file.path).name, 36),
            file.client,
            str(judgement.calls),
            *(_spread(found.get(method)) for method in methods),
        )
        for file, judgement, found in judged
    ]
    return Table(header=("file", "client", "calls", *methods), rows=tuple(rows), texts=2)


def calibrated_summary(files: Sequence[CalibratedFile]) -> Table:
    """Every method over all files, behind fewer and behind more calls."""
    rows = [
        (
            one.method,
            str(one.after),
            f"{one.within} of {one.files}",
            _percent(one.median),
            _percent(one.worst),
        )
        for one in summarize(files)
    ]
    header = ("method", "calls before", f"files within {BAR:.0%}", "median of the files", "worst file")
    return Table(header=header, rows=tuple(rows))


def law_table(evaluation: Evaluation) -> Table:
    """What was learned for each provider, model and client."""
    rows = [
        (
            law.client,
            _shortened(law.model or _MISSING, 40),
            str(law.pairs),
            f"{law.k:.3f}",
            f"{law.b:.3f}",
            f"{law.a:.1f}",
            f"{law.each:.1f}",
            law.replay,
        )
        for law in evaluation.laws
        if law.pairs
    ]
    header = ("client", "model", "pairs", "k", "b", "a", "each", "reasoning kept")
    return Table(header=header, rows=tuple(rows), texts=2)


def _name(transcript: Transcript) -> str:
    name = _shortened(Path(transcript.path).name, 36)
    return f"{name} ({_shortened(transcript.identity.agent, 12)})" if transcript.identity.agent else name


def _shortened(name: str, length: int) -> str:
    return name if len(name) <= length else f"{name[: length - 1]}…"


def _percent_of(scores: Scores | None) -> str:
    return _MISSING if scores is None else _percent(scores.mape)


def _percent(share: float) -> str:
    return f"{share:.3%}" if share < 0.01 else f"{share:.1%}"


def _spread(spread: Spread | None) -> str:
    return _MISSING if spread is None else f"{_percent(spread.median)} / {_percent(spread.p90)}"


def _share(share: float | None) -> str:
    return _MISSING if share is None else f"{share:.1%}"
