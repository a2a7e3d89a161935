"""`ullage demo`: the main job without keys or network."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from .output import wants_color

if TYPE_CHECKING:
    from ullage.core.accounting import View
    from ullage.stores import CallRecord


# Too small for the shipped session's last requests.
_WINDOW = 9_000
_SMALL: dict[str, Any] = {
    "mode": "managed",
    "models": {"refresh": False, "overrides": {"*": {"context_window": _WINDOW, "max_output_tokens": 1_000}}},
}


@click.command()
@click.option("--view", type=click.Choice(["summary", "compact", "expanded"]), default="summary", show_default=True)
def command(view: View) -> None:
    """Replay a shipped session through a real gateway to a fake provider and show what fills the window; then once more through a
    window that is too small for it, and show what managed mode leaves out.

    Nothing leaves this machine: provider, gateway and client are started here on loopback addresses, and everything is
    gone afterwards.
    """
    import asyncio

    asyncio.run(_demo(view))


async def _demo(view: View) -> None:
    import asyncio
    import tempfile
    from pathlib import Path

    from ullage.core.wire import DIALECTS
    from ullage.testing import FakeProvider
    from ullage.testing.gateway import run_gateway
    from ullage.testing.story import load_story

    story = load_story()
    requests = list(story.requests())
    with tempfile.TemporaryDirectory() as folder:
        async with FakeProvider(story.rules()) as provider:
            upstreams = dict.fromkeys(DIALECTS, provider.url)
            async with run_gateway(upstreams, Path(folder) / "observed") as daemon:
                click.echo(f"fake provider  {provider.url}\nullage         {daemon.url}   (mode: observe)\n")
                await _replay(daemon.url, requests)
                await asyncio.to_thread(daemon.engine.flush)
                observed = list(reversed(daemon.store.calls(limit=100)))
        async with (
            FakeProvider(story.rules()) as provider,
            run_gateway(dict.fromkeys(DIALECTS, provider.url), Path(folder) / "managed", **_SMALL) as daemon,
        ):
            await _replay(daemon.url, requests)
            await asyncio.to_thread(daemon.engine.flush)
            (managed,) = daemon.store.calls(limit=1)
    _show(observed, view)
    _show_plan(managed)
    click.echo("\nNext: `ullage serve`, then `ullage setup claude-code` (or codex, pi, opencode, aider, gemini-cli).")


async def _replay(url: str, bodies: list[dict[str, object]]) -> None:
    """Sends the session's requests one after the other and reads the answers, as a client does."""
    import aiohttp

    headers = {"x-api-key": "none", "anthropic-version": "2023-06-01", "x-ullage-session": "demo"}
    async with aiohttp.ClientSession(headers=headers) as session:
        for body in bodies:
            async with session.post(f"{url}/v1/messages", json=body) as response:
                response.raise_for_status()
                await response.read()


def _show(calls: list[CallRecord], view: View) -> None:
    import shutil

    from ullage.core.accounting import load_report, render_view

    click.echo(
        "What each call sent, and what the provider said of it (tokens; the fake one counts four bytes a token):\n"
    )
    click.echo(f"  {'call':<6}{'estimate':>10}{'fresh':>9}{'cache read':>12}{'cache write':>13}{'output':>9}  stop")
    for number, call in enumerate(calls, 1):
        usage = call.usage or {}
        figures = [usage.get(name) or 0 for name in ("input_fresh", "cache_read", "cache_write", "output")]
        row = "".join(f"{figure:>{width},}" for figure, width in zip(figures, (9, 12, 13, 9), strict=True))
        click.echo(f"  {number:<6}{'~' + format(call.estimated_input_tokens or 0, ','):>10}{row}  {call.stop_reason}")
    click.echo("\nWhat fills the window in the last call:\n")
    last = calls[-1].breakdown
    assert last is not None, "every call of the shipped session is accounted for"
    width = shutil.get_terminal_size((100, 24)).columns
    click.echo(render_view(load_report(last), view, width=width, color=wants_color()))


def _show_plan(call: CallRecord) -> None:
    from .why import explain

    click.echo(
        f"The same session in managed mode, with a window of {_WINDOW:,} tokens; its last call, as `ullage why` has it:\n"
    )
    for line in list(explain(call))[1:]:
        click.echo(f"  {line}")
