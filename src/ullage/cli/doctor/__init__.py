"""`ullage doctor`: looks at everything that must be right and says what to do where it is not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ullage._version import __version__
from ullage.cli.output import print_json
from ullage.settings import environment, load_settings

from . import addresses, installation
from .budget import budget
from .check import Check, worst
from .clients import clients
from .delivery import left_alone, telemetry
from .targets import targets

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ullage.settings import Loaded


@click.command()
@click.option("--online", is_flag=True, help="Also ask whether the providers can be reached.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def command(context: click.Context, online: bool, as_json: bool) -> None:
    """Check the installation and say what to do next.

    Nothing is changed and, without --online, nothing leaves this machine. Exit status 1 if something is broken.
    """
    checks = check_all(load_settings(), environment(), online=online)
    status = worst(checks)
    if as_json:
        print_json({"ullage": __version__, "status": status, "checks": checks})
    else:
        click.echo("\n".join(lines(checks)))
    context.exit(1 if status == "fail" else 0)


def check_all(loaded: Loaded, environ: Mapping[str, str], *, online: bool) -> list[Check]:
    """Every check, in the order they are told. With `online` the providers are asked too, which may take seconds."""
    listener = addresses.find_daemon(loaded)
    return [
        installation.python(),
        installation.packages(),
        installation.settings(loaded),
        *installation.settings_file(loaded),
        installation.data_folder(loaded),
        installation.token(loaded),
        installation.database(loaded),
        installation.catalogues(loaded),
        addresses.daemon(loaded, listener),
        *addresses.upstreams(loaded),
        *(addresses.reached(loaded) if online else ()),
        *addresses.proxy(loaded, environ),
        *targets(loaded, environ),
        *budget(loaded),
        *left_alone(loaded),
        *telemetry(loaded),
        *clients(loaded, running=listener.kind == "ullage"),
    ]


def lines(checks: list[Check]) -> list[str]:
    """One line a check, the next step below it, and the sum."""
    width = max(len(check.title) for check in checks)
    printed: list[str] = []
    for check in checks:
        printed.append(f"{check.status:4}  {check.title:{width}}  {check.detail}")
        printed += [f"{'':4}  {'':{width}}  → {check.next}"] if check.next else []
    counts = {status: sum(check.status == status for check in checks) for status in ("ok", "warn", "fail")}
    return [*printed, "", f"{counts['ok']} ok, {counts['warn']} to look at, {counts['fail']} broken"]
