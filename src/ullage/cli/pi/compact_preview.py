"""`/context compact-preview`: what a compaction now would do, by the rules that one goes by. Nothing is sent."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from ullage.cli import records
from ullage.cli.records import print_lines, tokens
from ullage.core.errors import CallError, InputError
from ullage.core.terminal import safe

from .compaction_screens import prompts_after, usd
from .newest import OURS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ullage.cli.auto.place import Place
    from ullage.core.routing.compaction import Summarizer

    from .asked import Asked

_CUT_CHARS = 2_000
"""What Pi lets a tool result be in what it has summarised."""


class _Author(NamedTuple):
    """Who would write a summary of so many tokens, what it would cost in USD, and who else might."""

    target: str
    usd: float | None
    others: tuple[Summarizer, ...] = ()


def show_preview(asked: Asked) -> int:
    """What a compaction now would do. Nothing is sent."""
    print_lines(map(safe, _preview(asked)))
    return 0


def _preview(asked: Asked) -> Iterator[str]:
    total, keep = _total(asked), asked.host.compaction.keep_recent_tokens
    if total is None:
        yield "How long the context is, is not known yet: send a prompt, then ask again."
        return
    if keep is None:
        yield "This Pi does not say how much it keeps when it compacts, so nothing can be told of it."
        return
    if total <= keep:
        yield f"There is nothing to compact: all of ~{tokens(total)} tokens is within the newest ~{tokens(keep)} that stay."
        return
    cut = total - keep
    yield (
        f"Of ~{tokens(total)} tokens the newest ~{tokens(keep)} would stay, and a summary would stand for the other"
        f" ~{tokens(cut)} at most: Pi cuts tool results at {_CUT_CHARS:,} characters for it."
    )
    yield from _author_lines(asked, cut)
    yield "Nothing was sent. /compact does it."


def _author_lines(asked: Asked, cut: int) -> Iterator[str]:
    from ullage.core.routing.compaction import SUMMARY_TOKENS

    try:
        author = _author(asked, cut)
    except (CallError, InputError) as error:
        yield f"Nobody could write it: {error.message}"
        return
    if author is None:
        yield f"No model has room for ~{tokens(cut)} tokens and their summary, so Pi would not compact."
        return
    cost = "at an unknown price" if author.usd is None else f"for ${author.usd:.4f} at most"
    yield f"{author.target} would write it {cost}, if it is {SUMMARY_TOKENS:,} tokens long."
    for other in author.others[:2]:
        yield f"  {other.target} would for {usd(other.usd)}."


def _author(asked: Asked, cut: int) -> _Author | None:
    from ullage.cli.auto.place import look, offering

    from .auto_screens import candidates

    if not asked.host.models:
        raise InputError("Pi has not told which models it has.", hint="`ullage pi install` updates the extension.")
    with offering(lambda config: candidates(asked, config)), look(None, True, None) as place:
        return _chosen(place, cut) if asked.model.startswith(OURS) else _own(asked, place, cut)


def _chosen(place: Place, cut: int) -> _Author | None:
    """As the router chooses: whoever may take it for the least."""
    from ullage.cli.auto.asking import open_asking
    from ullage.core.routing.compaction import rank_summarizers

    routing = place.settings.routing
    scoped = replace(routing, models=routing.compaction_models or routing.models)
    asking = open_asking(place._replace(loaded=replace(place.loaded, settings=replace(place.settings, routing=scoped))))
    standing = replace(asking.standing, context_tokens=cut)
    eligible = asking.previewing.eligible(standing, asking.candidates, now_ms=records.now_ms())
    ranked = rank_summarizers(eligible.candidates, tokens=cut, warm={})
    return _Author(ranked[0].target, ranked[0].usd, ranked[1:]) if ranked else None


def _own(asked: Asked, place: Place, cut: int) -> _Author:
    """Pi's own model."""
    from ullage.core.routing.compaction import summary_usd
    from ullage.settings.route_config import make_route_config

    from .auto_screens import candidates

    found = candidates(asked, make_route_config(place.settings))
    price = next((one.price for one in found if one.target == asked.model), None)
    return _Author(asked.model, summary_usd(price, tokens=cut) if price is not None else None)


def _total(asked: Asked) -> int | None:
    """Tokens of the context: by Pi's count, else as long as the newest prompt was."""
    if asked.host.tokens is not None:
        return asked.host.tokens
    prompts = prompts_after(asked.session) if asked.session else []
    return prompts[-1][1] if prompts else None
