"""Files made anew: over a real socket from a local server, and from the installed package."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from tests.catalogs.doubles import Publisher
from ullage.catalogs import refreshing
from ullage.catalogs.files import GENAI_FILE, LITELLM_FILE, read_catalogue
from ullage.catalogs.orders import Order
from ullage.catalogs.refreshing import carry_out, fetch
from ullage.core.errors import UpstreamError


def order(folder: Path, publisher: Publisher) -> Order:
    return Order(source="litellm", cache_dir=str(folder), address=publisher.url)


async def test_the_catalogue_is_fetched_and_distilled(empty_folder: Path, publisher: Publisher) -> None:
    outcome = await carry_out(order(empty_folder, publisher))
    assert outcome.failure == ""
    catalogue = read_catalogue(empty_folder / LITELLM_FILE)
    assert catalogue is not None
    assert catalogue.file.etag == '"first"'
    assert catalogue.rows("openai")["gpt-5"].max_input_tokens == 272_000


async def test_a_catalogue_that_has_not_changed_is_not_sent_again(folder: Path, publisher: Publisher) -> None:
    before = read_catalogue(folder / LITELLM_FILE)
    assert (await carry_out(order(folder, publisher))).failure == ""
    after = read_catalogue(folder / LITELLM_FILE)
    assert before is not None
    assert after is not None
    assert publisher.asked == ['"first"']
    assert after.file.checked_ms != before.file.checked_ms
    assert after.rows("openai") == before.rows("openai")


async def test_a_new_version_takes_the_place_of_the_old_one(folder: Path, publisher: Publisher) -> None:
    publisher.etag = '"second"'
    publisher.body = b'{"m": {"mode": "chat", "litellm_provider": "p", "max_input_tokens": 1}}'
    assert (await carry_out(order(folder, publisher))).failure == ""
    catalogue = read_catalogue(folder / LITELLM_FILE)
    assert catalogue is not None
    assert list(catalogue.file.providers) == ["p"]
    assert catalogue.file.etag == '"second"'


@pytest.mark.parametrize(
    ("status", "body", "words"),
    [
        (404, b"", "answered with status 404"),
        (302, b"", "answered with status 302"),
        (200, b"<html>", "cannot be read"),
        (200, b"{}", "holds no model"),
        (200, b"x" * 2_000, "sends more than"),
    ],
)
async def test_a_bad_download_keeps_the_old_file(
    folder: Path, publisher: Publisher, monkeypatch: pytest.MonkeyPatch, status: int, body: bytes, words: str
) -> None:
    monkeypatch.setattr(refreshing, "LARGEST_BYTES", 1_000)
    publisher.etag, publisher.status, publisher.body = '"second"', status, body
    before = (folder / LITELLM_FILE).read_bytes()
    assert words in (await carry_out(order(folder, publisher))).failure
    assert (folder / LITELLM_FILE).read_bytes() == before


async def test_offline_is_a_sentence_without_the_way_that_was_taken(empty_folder: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        outcome = await carry_out(
            Order(
                source="litellm",
                cache_dir=str(empty_folder),
                address="http://example.invalid/x",
                proxy=f"http://user:secret@127.0.0.1:{port}",
            )
        )
    assert outcome.failure.startswith("example.invalid could not be reached (")
    assert "secret" not in outcome.failure


async def test_a_server_that_says_unchanged_unasked_is_not_believed(publisher: Publisher) -> None:
    publisher.status = 304
    with pytest.raises(UpstreamError, match="status 304"):
        await fetch(publisher.url)


async def test_genai_prices_are_distilled(empty_folder: Path) -> None:
    assert (await carry_out(Order(source="genai-prices", cache_dir=str(empty_folder)))).failure == ""
    catalogue = read_catalogue(empty_folder / GENAI_FILE)
    assert catalogue is not None
    assert catalogue.rows("openai")["gpt-4o"].context_window == 128_000


async def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path, publisher: Publisher) -> None:
    (tmp_path / "cache").write_bytes(b"")
    outcome = await carry_out(order(tmp_path / "cache", publisher))
    assert outcome.failure.startswith("The cache folder cannot be written")
