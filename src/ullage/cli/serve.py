"""`ullage serve`: the daemon in the foreground."""

from __future__ import annotations

import logging
import sys
from pathlib import Path

import click


@click.command()
@click.option("--host", help="Address to listen on (loopback only).")
@click.option("--port", type=int, help="Port to listen on; 0 picks a free one. Default 8484.")
@click.option(
    "--mode",
    type=click.Choice(["observe", "managed"]),
    help="observe relays byte for byte and accounts beside it; managed plans what is sent.",
)
@click.option("--upstream", "upstreams", multiple=True, metavar="DIALECT=URL", help="A provider's root; repeatable.")
@click.option("--config", type=click.Path(path_type=Path, dir_okay=False), help="Settings file in place of the user's.")
@click.option("--store", metavar="URL", help="`sqlite` (default) or `memory`.")
@click.option("--data-dir", type=click.Path(path_type=Path, file_okay=False), help="Folder of the database.")
def command(
    host: str | None,
    port: int | None,
    mode: str | None,
    upstreams: tuple[str, ...],
    config: Path | None,
    store: str | None,
    data_dir: Path | None,
) -> None:
    """Run the daemon between your agents and their providers.

    Point a client at it with `ullage setup CLIENT`, then look with `ullage context` and `ullage sessions`.
    """
    from ullage.settings import load_settings, parse_upstream_flag

    flags: dict[str, object] = {
        "server.host": host,
        "server.port": port,
        "mode": mode,
        "store.url": store,
        "data_dir": str(data_dir) if data_dir is not None else None,
    }
    for text in upstreams:
        for dialect, root in parse_upstream_flag(text).items():
            flags[f"upstreams.{dialect}"] = root
    loaded = load_settings(flags={key: value for key, value in flags.items() if value is not None}, config=config)
    logging.basicConfig(
        level=loaded.settings.log_level.upper(),
        stream=sys.stderr,
        format="%(asctime)s %(levelname)s %(name)s: %(message)s",
    )
    for problem in loaded.problems:
        if problem not in loaded.blocking[:1]:  # that one is what it ends with
            logging.getLogger("ullage.settings").warning("%s", problem)
    loaded.require_usable()
    _run(loaded)


def _run(loaded: object) -> None:
    import asyncio

    from ullage.daemon import serve
    from ullage.settings import Loaded

    assert isinstance(loaded, Loaded)

    def announce(url: str) -> None:
        click.echo(f"ullage: listening on {url}")

    main = serve(loaded.settings, loaded.paths.data_dir, loaded.paths.cache_dir, announce, sources=loaded.sources)
    if sys.platform == "win32":
        asyncio.run(main)
        return
    import uvloop

    uvloop.run(main)
