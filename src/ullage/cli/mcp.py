"""`ullage mcp`: a server on standard input and output, by which an agent looks up its past and keeps things."""

from __future__ import annotations

import time
from pathlib import Path

import click

from ullage.core.errors import CallError


@click.command()
@click.option(
    "--project",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Folder of the project, if not the working one.",
)
@click.option("--data-dir", type=click.Path(file_okay=False), help="Folder of the database, if not the configured one.")
def command(project: Path | None, data_dir: str | None) -> None:
    """Serve an agent by the Model Context Protocol: recall, artifacts, pins.

    A client starts it and talks to it on standard input and output: `claude mcp add ullage -- ullage mcp`. Its tools find what
    was said before in this project, read large tool results that were kept, and keep what the user asks to be kept.
    """
    try:
        import mcp  # noqa: F401 - is the extra installed?
    except ImportError as error:
        raise CallError(
            "The MCP server needs the official SDK, which is not installed.",
            hint="Run `pip install 'ullage[mcp]'`.",
            code="missing_extra",
        ) from error
    from ullage.mcp.opening import open_tools
    from ullage.mcp.server import make_server
    from ullage.settings import load_settings

    folder = (project or Path()).absolute()
    loaded = load_settings(flags={"data_dir": data_dir}, cwd=folder)
    tools = open_tools(
        loaded.settings,
        data_dir=loaded.paths.data_dir,
        home=loaded.paths.home,
        folder=folder,
        clock_ms=lambda: int(time.time() * 1000),
    )
    make_server(tools).run("stdio")
