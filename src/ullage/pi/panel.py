"""The screen of what fills a context, in its three views (accounting specification, section 13)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ullage.core.accounting import account, make_meter, read_options
from ullage.core.accounting.views import VIEWS, render_view
from ullage.core.wire import parse_request, read_context

from .messages import dialect_of

if TYPE_CHECKING:
    from ullage.settings import Settings

    from .asking import Model


def draw(body: bytes, model: Model, settings: Settings, *, width: int) -> dict[str, Any]:
    """The views as text, by their names, `width` columns wide; and what they add up to, in tokens."""
    dialect = dialect_of(model.api)
    conversation = parse_request(body, dialect)
    meter = make_meter(
        dialect=dialect,
        provider=model.provider,
        model=model.id,
        client="pi",
        estimator=settings.accounting.estimator,
        heuristics=settings.accounting.heuristics,
    )
    breakdown = account(
        read_context(conversation), meter, window=model.context_window, options=read_options(conversation)
    )
    return {
        "tokens": breakdown.total.tokens,
        "views": {view: render_view(breakdown, view, width=width, color=False) for view in VIEWS},
    }
