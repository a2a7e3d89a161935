"""`/context privacy`: what the provider of the newest request may see, and what was kept from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ullage.cli.plan_text import tell_privacy
from ullage.cli.records import print_lines
from ullage.core.errors import InputError, StoreError
from ullage.core.terminal import safe

from .newest import newest_call

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ullage.settings import Loaded

    from .asked import Asked

_WIDTH = 13


def show_privacy(asked: Asked) -> int:
    """Destination, classes, counts, where it is enforced, and warnings."""
    from ullage.settings import load_settings

    print_lines(map(safe, _lines(asked, load_settings())))
    return 0


def _lines(asked: Asked, loaded: Loaded) -> Iterator[str]:
    settings = loaded.settings.privacy
    if not settings.enabled:
        yield "Privacy is off: set `enabled = true` in [privacy] of the settings to keep marked text in."
        return
    yield _line("local", ", ".join(settings.local_providers) or "no provider")
    yield _line("others", f"may see {', '.join(settings.remote_default_allowed) or 'nothing'}")
    for name, one in settings.remote_providers.items():
        yield _line(name, f"may see {', '.join(one.allowed) or 'nothing'}")
    try:
        privacy = (newest_call(asked.session).plan or {}).get("privacy")
    except (InputError, StoreError) as error:
        yield _line("request", error.message)
        privacy = None
    if privacy:
        yield from _of_request(privacy)
    yield from (_line("warning", str(one)) for one in loaded.problems if (one.key or "").startswith("privacy"))


def _of_request(privacy: dict[str, Any]) -> Iterator[str]:
    yield _line("destination", f"{privacy['provider']}, {privacy['destination']}")
    yield _line("allowed", ", ".join(privacy["allowed_classifications"]) or "nothing")
    counts = privacy["selected_classifications"]
    yield _line("classes", ", ".join(f"{name} {number}" for name, number in counts.items()) or "none")
    withheld = f"{privacy['blocked_blocks']} texts by class, {privacy['secret_redactions']} secrets"
    yield _line("withheld", f"{withheld}, {len(privacy['excluded_sources'])} not added")
    yield _line("enforcement", f"{privacy['enforcement']}, {privacy['provider_checks']} checks of what left")
    yield from tell_privacy(privacy)


def _line(name: str, text: str) -> str:
    return f"{name:<{_WIDTH}}{text}"
