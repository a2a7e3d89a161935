"""What the shell completes: names that are known without asking anybody."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from ullage.core.errors import UllageError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from click import Context, Parameter


def complete_policy(ctx: Context, param: Parameter, incomplete: str) -> list[str]:
    """Policies."""
    from ullage.core.routing.weights import WEIGHTS

    return _begin(WEIGHTS, incomplete)


def complete_level(ctx: Context, param: Parameter, incomplete: str) -> list[str]:
    """Levels of thinking."""
    from ullage.core.routing.thinking import LEVELS

    return _begin(LEVELS, incomplete)


def complete_pool(ctx: Context, param: Parameter, incomplete: str) -> list[str]:
    """Pools of the settings."""
    from ullage.settings import load_settings

    with contextlib.suppress(UllageError):
        return _begin([*sorted(load_settings().settings.routing.pools), "off"], incomplete)
    return []


def complete_target(ctx: Context, param: Parameter, incomplete: str) -> list[str]:
    """Targets that are known, whoever has their key."""
    from ullage.cli.route_models import find_candidates
    from ullage.settings import load_settings
    from ullage.settings.route_config import make_route_config

    with contextlib.suppress(UllageError):
        settings = load_settings().settings
        found = find_candidates(settings, make_route_config(settings), keyless=True)
        return _begin(sorted(one.target for one in found.candidates), incomplete)
    return []


def _begin(words: Iterable[str], incomplete: str) -> list[str]:
    return [word for word in words if word.startswith(incomplete)]
