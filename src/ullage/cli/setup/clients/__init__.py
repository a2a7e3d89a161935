"""The clients that `ullage setup` knows: one file each, and a row here."""

from ullage.cli.setup.client import Client

from . import aider, claude_code, codex, gemini_cli, opencode, pi

CLIENTS: dict[str, Client] = {
    client.name: client
    for client in (
        claude_code.CLIENT,
        codex.CLIENT,
        pi.CLIENT,
        opencode.CLIENT,
        aider.CLIENT,
        gemini_cli.CLIENT,
    )
}

__all__ = ["CLIENTS"]
