"""Catalogues made of excerpts of the real ones, and a server that hands LiteLLM's out."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest
from aiohttp import web

from tests.catalogs.doubles import NOW_MS, Clock, Publisher
from ullage.catalogs import Catalogs, open_catalogs
from ullage.catalogs.files import GENAI_FILE, LITELLM_FILE, make_file, write_bytes
from ullage.catalogs.litellm import distil_litellm

DATA = Path(__file__).parents[1] / "data" / "catalogs"


@pytest.fixture(scope="session")
def litellm_json() -> bytes:
    return (DATA / "litellm.json").read_bytes()


@pytest.fixture
def empty_folder(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "ullage"


@pytest.fixture
def folder(empty_folder: Path, litellm_json: bytes) -> Path:
    """A cache folder with the distilled excerpts."""
    file = make_file(distil_litellm(litellm_json), as_of="2026-11-30", checked_ms=NOW_MS, etag='"first"')
    write_bytes(empty_folder / LITELLM_FILE, msgspec.json.encode(file))
    shutil.copy(DATA / GENAI_FILE, empty_folder / GENAI_FILE)
    return empty_folder


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def catalogs(folder: Path, clock: Clock) -> Catalogs:
    return open_catalogs(folder, clock=clock)


@pytest.fixture
async def publisher(litellm_json: bytes) -> AsyncIterator[Publisher]:
    publisher = Publisher(litellm_json)
    app = web.Application()
    app.router.add_get("/catalogue.json", publisher.answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = runner.addresses[0][1]
    publisher.url = f"http://127.0.0.1:{port}/catalogue.json"
    yield publisher
    await runner.cleanup()
