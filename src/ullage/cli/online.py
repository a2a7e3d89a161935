"""What the commands that ask a provider share: a line before they do, a bar while it lasts, a transport with little patience."""

from __future__ import annotations

import asyncio
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

import click

from ullage.core.terminal import safe

from .output import is_terminal

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator
    from typing import Any

    from ullage.settings import Settings
    from ullage.upstream import UpstreamClient

T = TypeVar("T")

# A person waits for it. A count takes a second, the smallest generation some more.
_PATIENCE_S = 60.0


def say(text: str) -> None:
    """A line on standard error, which leaves standard output to the report."""
    click.echo(f"ullage: {safe(text)}", err=True)


def run_online(settings: Settings, root: str, work: Callable[[UpstreamClient], Coroutine[Any, Any, T]]) -> T:
    """Runs what asks the provider at `root`, with a transport as the settings say."""
    from msgspec.structs import replace

    from ullage.settings.proxies import find_proxies
    from ullage.upstream import UpstreamClient

    upstream = settings.upstream
    patient = replace(upstream, idle_timeout_s=min(upstream.idle_timeout_s, _PATIENCE_S))

    async def run() -> T:
        client = UpstreamClient(patient, find_proxies([root]) if upstream.use_proxy_environment else {})
        try:
            return await work(client)
        finally:
            await client.close()

    return asyncio.run(run())


@contextmanager
def progress_bar(steps: int, label: str) -> Iterator[Callable[[], None]]:
    """A bar on standard error, moved by a step with each call; nothing where no one looks."""
    if not is_terminal(sys.stderr) or steps < 2:
        yield lambda: None
        return
    with click.progressbar(length=steps, label=label, file=sys.stderr) as bar:
        yield lambda: bar.update(1)
