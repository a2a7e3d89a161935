"""The page: header, window, growth, insights, and the data itself."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING, Any

from ullage._version import __version__

from .calibration import calibration_parts
from .chart import draw_chart, legend_of
from .kinds import in_order
from .markup import Markup, document, embedded_json, join, style, tag
from .numbers import duration, percent, short, tokens
from .pictures import legend
from .strips import draw_cache, draw_compaction
from .tables import (
    any_of,
    cache_table,
    calls_table,
    clearings_table,
    compaction_table,
    dropped_table,
    duplicates_table,
    items_table,
    losses_table,
    marks_table,
    outdated_table,
    sections_table,
    turns_table,
)
from .window import draw_bar, draw_treemap, parts_of

if TYPE_CHECKING:
    from collections.abc import Iterator

DATA_ID = "ullage-report"
"""Id of the element that holds the report as JSON."""

# Nothing may be fetched and no script may run, whatever a name in the report holds.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def render_report(report: dict[str, Any]) -> str:
    """The page for a context report with its insights (interface, section 3), as `--json` prints it.

    It holds names and paths and no content, loads nothing and runs nothing. Every text in it is escaped.
    """
    return document(
        tag(
            "html",
            tag("head", *_head(report)),
            tag("body", tag("main", *_sections(report)), _footer(report), embedded_json(DATA_ID, report)),
            lang="en",
        )
    )


def _head(report: dict[str, Any]) -> Iterator[Markup]:
    yield tag("meta", charset="utf-8")
    yield tag("meta", http_equiv="Content-Security-Policy", content=_POLICY)
    yield tag("meta", name="viewport", content="width=device-width, initial-scale=1")
    yield tag("meta", name="color-scheme", content="light dark")
    yield tag("meta", name="generator", content=f"ullage {__version__}")
    yield tag("title", f"Context: {_target(report)}, {short(report['total'])} tokens")
    yield style(files(__package__).joinpath("style.css").read_text(encoding="utf-8"))


def _sections(report: dict[str, Any]) -> Iterator[Markup | None]:
    insights = report["insights"]
    yield _header(report)
    yield _warnings(report)
    yield _section("window", "What fills the window", *_window(report))
    yield _section("growth-section", "Growth, call by call", *_growth(report))
    yield _section("repeats", "There twice, or no longer true", *_repeats(insights))
    yield _section("cache-section", "The provider's cache", *_cache(insights["cache"]))
    yield _section("calibration", "Estimate and usage", *calibration_parts(report.get("calibration")))
    yield _section("compactions", "Compactions", *_compactions(insights))


def _section(identity: str, title: str, *parts: Markup | None) -> Markup | None:
    content = any_of(parts)
    if content is None:
        return None
    heading = f"{identity}-heading"
    return tag("section", tag("h2", title, id=heading), content, id=identity, aria_labelledby=heading)


def _target(report: dict[str, Any]) -> str:
    return "/".join(part for part in (report["provider"], report["model"]) if part) or "unknown model"


def _header(report: dict[str, Any]) -> Markup:
    exact = report["total_kind"] == "usage"
    words = [report["client"], _target(report), report["source"]]
    return tag(
        "header",
        tag("p", "ullage context", class_="brand"),
        tag("h1", tag("span", tokens(report["total"], exact=exact), class_="total"), " tokens"),
        tag("p", " · ".join(str(word) for word in words if word), class_="subject"),
        draw_bar(report),
        tag("dl", [_fact(name, value) for name, value in _facts(report)], class_="facts"),
    )


def _fact(name: str, value: str) -> Markup:
    return tag("div", tag("dt", name), tag("dd", value))


def _facts(report: dict[str, Any]) -> Iterator[tuple[str, str]]:
    exact = report["total_kind"] == "usage"
    insights = report["insights"]
    yield "Total", "counted by the provider" if exact else f"estimate, {report['total_method']}"
    if not exact:
        yield "Between", f"{tokens(report['total_low'])} and {tokens(report['total_high'])}"
    if report["window"]:
        yield "Window", tokens(report["window"])
        yield "Filled", percent(report["total"] / report["window"], exact=exact)
        yield "Free", tokens(report["ullage"], exact=exact)
    if report["output"] is not None:
        yield "Last answer", tokens(report["output"])
    if insights["freeable_tokens"]:
        yield "Could go", f"{tokens(insights['freeable_tokens'], exact=False)} ({percent(insights['freeable_share'])})"
    cache = insights["cache"]
    if cache is not None and cache["held"] is not None:
        yield "In the cache", tokens(cache["held"], exact=cache["call"] is not None and not cache["automatic"])
    yield "Counted with", f"{report['estimator']}, {report['family']}"


def _warnings(report: dict[str, Any]) -> Markup | None:
    if not report["warnings"]:
        return None
    found = [tag("li", str(warning["message"]), data_code=str(warning["code"])) for warning in report["warnings"]]
    return tag("aside", tag("ul", found), class_="warnings", aria_label="What to know about these numbers")


def _window(report: dict[str, Any]) -> Iterator[Markup | None]:
    parts = parts_of(report)
    if parts:
        yield tag("figure", draw_treemap(report), legend(in_order(part.kind for part in parts)))
    yield sections_table(report)
    yield items_table(report)


def _growth(report: dict[str, Any]) -> Iterator[Markup | None]:
    growth = report["insights"]["growth"]
    chart = draw_chart(report)
    if chart is not None:
        points = "Filled points: counted by the provider. Open points: estimates, with their bounds."
        yield tag("figure", chart, legend(legend_of(report)), tag("figcaption", points))
    yield turns_table(growth["turns"])
    yield calls_table(growth["calls"], growth["keep_calls"])


def _repeats(insights: dict[str, Any]) -> Iterator[Markup | None]:
    if not (insights["duplicates"] or insights["outdated"]):
        return
    said = f"{tokens(insights['freeable_tokens'], exact=False)} tokens would be missed by nobody."
    if insights["stale_tokens"]:
        stale = tokens(insights["stale_tokens"], exact=False)
        said += f" Another {stale} were read from files that were edited since, and may still be needed in part."
    yield tag("p", said)
    yield outdated_table(insights["outdated"])
    yield duplicates_table(insights["duplicates"])


def _cache(cache: dict[str, Any] | None) -> Iterator[Markup | None]:
    if cache is None:
        return
    yield tag("dl", [_fact(name, value) for name, value in _cache_facts(cache)], class_="facts")
    strip = draw_cache(cache["rows"])
    if strip is not None:
        yield tag(
            "figure", strip, tag("figcaption", "The prompt as the provider reads it; pale is what is not in the cache.")
        )
    yield cache_table(cache["rows"])
    yield marks_table(cache["marks"] or ())
    yield losses_table(cache["losses"])


def _cache_facts(cache: dict[str, Any]) -> Iterator[tuple[str, str]]:
    if cache["call"] is not None:
        yield "After call", str(cache["call"])
    for name, key in (("Read", "read"), ("Written", "written"), ("Fresh", "fresh")):
        if cache[key] is not None:
            yield name, tokens(cache[key])
    if cache["held"] is not None:
        yield (
            "Held" if not cache["automatic"] else "Held, at most",
            tokens(cache["held"], exact=cache["call"] is not None),
        )
    if cache["through_message"] is not None:
        yield "Whole up to message", str(cache["through_message"])
    if cache["read_share"] is not None:
        yield "Of all prompts read from it", percent(cache["read_share"])
    if cache["losses"]:
        longest = max((loss["idle_s"] for loss in cache["losses"] if loss["idle_s"] is not None), default=None)
        lost = tokens(sum(loss["lost"] for loss in cache["losses"]))
        yield "Lost", f"{lost} in {len(cache['losses'])} calls, pauses up to {duration(longest)}"


def _compactions(insights: dict[str, Any]) -> Iterator[Markup | None]:
    for number, one in enumerate(insights["compactions"]):
        yield tag("h3", f"Before call {one['call']}" if one["call"] is not None else "At the end of the session")
        yield tag("p", _compaction_text(one))
        bars = draw_compaction(one, number)
        if bars is not None:
            yield tag("figure", bars, legend(in_order({**one["before"], **one["after"]})))
        yield compaction_table(one, number)
        yield dropped_table(one, number)
    yield clearings_table(insights["clearings"])


def _compaction_text(one: dict[str, Any]) -> str:
    said = f"{tokens(one['total_before'])} → {tokens(one['total_after'])} tokens"
    said += f"; {one['kept_messages']} of {one['messages_before']} messages kept"
    if one["new_tokens"] is not None:
        said += f"; {tokens(one['new_tokens'], exact=False)} tokens new"
    if one["trigger"]:
        said += f"; trigger: {one['trigger']}"
    if one["tokens_before"] is not None or one["tokens_after"] is not None:
        said += f"; the client wrote {tokens(one['tokens_before'])} → {tokens(one['tokens_after'])}"
    return f"{said}."


def _footer(report: dict[str, Any]) -> Markup:
    return tag(
        "footer",
        tag(
            "p",
            "~ marks an estimate; a number without it came from the provider. Messages are counted from 0, calls from 1. ",
            "This page holds names and paths and no content. The data of all pictures and tables is in it as JSON: ",
            join(tag("code", f"#{DATA_ID}"), "."),
        ),
        tag("p", f"Made by ullage {__version__} from {report['source'] or 'a report'}."),
    )
