"""A JSON file of another program: its object, or why there is none to be had."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

# As for our own settings files: what is larger is no configuration.
LARGEST_FILE_BYTES = 1024 * 1024


class JsonFile(Struct, frozen=True, kw_only=True):
    """What was read. `skipped` says why nothing of it can be used; numbers without a fraction are whole, as in JavaScript."""

    path: Path
    data: dict[str, Any] = {}
    skipped: str = ""
    missing: bool = False


def read_json(path: Path, *, largest_bytes: int = LARGEST_FILE_BYTES) -> JsonFile:
    """One file. Nothing about it is an error: what cannot be read is skipped, and says why."""
    try:
        if path.stat().st_size > largest_bytes:
            return JsonFile(path=path, skipped=f"is larger than {largest_bytes} bytes")
        data = _DECODER.decode(path.read_bytes())
    except FileNotFoundError:
        return JsonFile(path=path, skipped="is not there", missing=True)
    except OSError as error:
        return JsonFile(path=path, skipped=f"cannot be read: {error.strerror or error}")
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        return JsonFile(path=path, skipped=f"is not JSON: {error}")
    if not isinstance(data, dict):
        return JsonFile(path=path, skipped="holds no JSON object")
    return JsonFile(path=path, data=data)


def _number(text: str) -> int | float:
    number = float(text)
    return int(number) if number.is_integer() else number


_DECODER = msgspec.json.Decoder(float_hook=_number)
