"""`python -m ullage.testing`: the fake provider as a program of its own."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path

import click

from ullage.core.errors import UllageError

from .recording import DirectorySink, Recorder
from .script import load_script
from .server import FakeProvider


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", default=0, show_default=True, help="Port to listen on; 0 picks a free one.")
@click.option("--script", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="Rules, TOML or JSON.")
@click.option("--record", type=click.Path(file_okay=False, path_type=Path), help="Write each request to this folder.")
@click.option("--strict", is_flag=True, help="Refuse conversations that real providers refuse.")
def main(host: str, port: int, script: Path | None, record: Path | None, strict: bool) -> None:
    """A provider of all four dialects that calls no model: for tests, demonstrations and benchmarks."""
    try:
        rules = load_script(script) if script else ()
    except UllageError as error:
        raise click.ClickException(f"{error.message} {error.hint}") from error
    recorder = Recorder(sink=DirectorySink(record) if record else None)
    asyncio.run(_serve(FakeProvider(rules, host=host, port=port, recorder=recorder, strict=strict)))


async def _serve(provider: FakeProvider) -> None:
    stopped = asyncio.Event()
    for signum in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(signum, stopped.set)
    async with provider:
        click.echo(f"ullage fake provider: listening on {provider.url}")
        await stopped.wait()


if __name__ == "__main__":
    main(prog_name="python -m ullage.testing")
