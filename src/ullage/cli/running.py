"""What the daemon of a data folder says: it may have been started with other settings than those that a command reads."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from .doctor.network import LOCAL_TIMEOUT_S

if TYPE_CHECKING:
    from collections.abc import Mapping

_OK = 200
_MOST_BYTES = 16 * 1024 * 1024


def ask_daemon(data_dir: Path, route: str, query: Mapping[str, str]) -> Any | None:
    """The answer of a control route of the daemon that runs on the folder, below `/ullage/v1/`; `None` where none does, or none
    that says it."""
    import http.client
    from urllib.parse import urlencode, urlsplit

    import msgspec

    from ullage.core.privacy.hosts import is_loopback
    from ullage.pi.address import is_running, read_address

    address = read_address(data_dir)
    if address is None or not is_running(address):
        return None
    parts = urlsplit(address.url)
    if not is_loopback(parts.hostname or ""):
        return None
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port or 80, timeout=LOCAL_TIMEOUT_S)
    try:
        token = Path(address.token_file).read_text(encoding="utf-8").strip()
        headers = {"authorization": f"Bearer {token}", "connection": "close"}
        connection.request("GET", f"/ullage/v1/{route}?{urlencode(query)}", headers=headers)
        answer = connection.getresponse()
        return msgspec.json.decode(answer.read(_MOST_BYTES)) if answer.status == _OK else None
    except (OSError, http.client.HTTPException, ValueError):
        return None
    finally:
        connection.close()
