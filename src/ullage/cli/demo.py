"""`ullage demo`: the main job without keys or network."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from .output import wants_color

if TYPE_CHECKING:
    from ullage.core.accounting import View
    from ullage.stores import CallRecord
    from ullage.testing.story import Story


# Too small for the shipped session's last requests.
_WINDOW = 9_000
_OUTPUT = 1_000


@click.command()
@click.option("--view", type=click.Choice(["summary", "compact", "expanded"]), default="summary", show_default=True)
def command(view: View) -> None:
    """Replay a shipped session through a real gateway to a fake provider and show what fills the window and what it costs; then
    once more through a window that is too small for it, and show what managed mode leaves out; and where its prompts would be
    routed.

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
            async with run_gateway(upstreams, Path(folder) / "observed", **_sections(story)) as daemon:
                click.echo(f"fake provider  {provider.url}\nullage         {daemon.url}   (mode: observe)\n")
                await _replay(daemon.url, requests)
                await asyncio.to_thread(daemon.engine.flush)
                observed = list(reversed(daemon.store.calls(limit=100)))
        async with (
            FakeProvider(story.rules()) as provider,
            run_gateway(
                dict.fromkeys(DIALECTS, provider.url),
                Path(folder) / "managed",
                mode="managed",
                **_sections(story, _WINDOW),
            ) as daemon,
        ):
            await _replay(daemon.url, requests)
            await asyncio.to_thread(daemon.engine.flush)
            (managed,) = daemon.store.calls(limit=1)
    _show(observed, view)
    _show_plan(managed)
    _show_route(story)
    click.echo("\nNext: `ullage serve`, then `ullage setup claude-code` (or codex, pi, opencode, aider, gemini-cli).")


def _sections(story: Story, window: int | None = None) -> dict[str, Any]:
    """Settings that fetch nothing: what the model costs is shipped, and how large its window is, if it has one."""
    limits = {"context_window": window, "max_output_tokens": _OUTPUT} if window is not None else {}
    prices = {f"{kind}_price": usd for kind, usd in story.prices.items()}
    return {"models": {"refresh": False, "overrides": {"*": {**limits, **prices}}}}


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

    from .why import cost_of

    click.echo(
        "What each call sent, and what the provider said of it (tokens; the fake one counts four bytes a token):\n"
    )
    click.echo(
        f"  {'call':<6}{'estimate':>9}{'fresh':>8}{'cache read':>12}{'cache write':>13}{'output':>8}{'cost':>9}  stop"
    )
    for number, call in enumerate(calls, 1):
        usage = call.usage or {}
        figures = [usage.get(name) or 0 for name in ("input_fresh", "cache_read", "cache_write", "output")]
        row = "".join(f"{figure:>{width},}" for figure, width in zip(figures, (8, 12, 13, 8), strict=True))
        estimate = f"~{call.estimated_input_tokens or 0:,}"
        click.echo(f"  {number:<6}{estimate:>9}{row}{_usd(cost_of(call)):>9}  {call.stop_reason}")
    click.echo(f"\n{_total(calls)}")
    click.echo("\nWhat fills the window in the last call:\n")
    last = calls[-1].breakdown
    assert last is not None, "every call of the shipped session is accounted for"
    width = shutil.get_terminal_size((100, 24)).columns
    click.echo(render_view(load_report(last), view, width=width, color=wants_color()))


def _total(calls: list[CallRecord]) -> str:
    """What the session cost, and what it would have without a prompt cache."""
    from msgspec.structs import replace

    from .why import cost_of

    def uncached(call: CallRecord) -> CallRecord:
        usage = call.usage or {}
        fresh = sum(usage.get(name) or 0 for name in ("input_fresh", "cache_read", "cache_write"))
        return replace(call, usage={"input_fresh": fresh, "output": usage.get("output") or 0}, spend=None)

    spent = [sum(cost_of(call) or 0 for call in some) for some in (calls, map(uncached, calls))]
    model = calls[-1].model
    return f"  By what {model} costs the session took {_usd(spent[0])}; without the prompt cache {_usd(spent[1])}."


def _usd(nano: int | None) -> str:
    return "unknown" if nano is None else f"${nano / 1e9:.4f}"


def _show_plan(call: CallRecord) -> None:
    from .why import explain

    click.echo(
        f"The same session in managed mode, with a window of {_WINDOW:,} tokens; its last call, as `ullage why` has it:\n"
    )
    for line in list(explain(call))[1:]:
        click.echo(f"  {line}")


def _show_route(story: Story) -> None:
    """Where the session's first prompt would go, if the client let ullage choose."""
    import msgspec

    from ullage.core.routing.models import read_models
    from ullage.core.routing.route import RouteConfig, prepare_candidates, resolve_route

    from .route_text import tell_route

    config = RouteConfig()
    candidates = prepare_candidates(read_models(msgspec.json.encode(story.models)).models, config)
    click.echo("\nWhere `ullage route` would send the session's first prompt, among three models:\n")
    for line in tell_route(resolve_route(candidates, story.turns[0].user, config=config), explain=False):
        click.echo(f"  {line}".rstrip())
