"""Received requests are kept within bounds and can be written to a folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from ullage.testing.recording import DirectorySink, Received, Recorder

if TYPE_CHECKING:
    from pathlib import Path


def received(number: int, body: bytes = b"{}") -> Received:
    headers = ((b"Host", b"x"), (b"X-Latin", b"\xe9"))
    return Received(
        number=number,
        connection=1,
        method="POST",
        target="/v1/messages?a=b",
        headers=headers,
        body=body,
        received_s=1.0,
    )


def test_the_newest_are_kept_up_to_a_number() -> None:
    recorder = Recorder(limit=2)
    for number in (1, 2, 3):
        recorder.add(received(number))
    assert [one.number for one in recorder] == [2, 3]
    assert (len(recorder), recorder.total, recorder[-1].number) == (2, 3, 3)


def test_the_newest_are_kept_up_to_a_size_and_the_last_always() -> None:
    recorder = Recorder(limit_bytes=100)
    for number in (1, 2):
        recorder.add(received(number, b"x" * 60))
    assert [one.number for one in recorder] == [2]
    recorder.add(received(3, b"x" * 500))
    assert [one.number for one in recorder] == [3]


def test_clearing_keeps_the_count() -> None:
    recorder = Recorder()
    recorder.add(received(1))
    recorder.clear()
    assert (len(recorder), recorder.total) == (0, 1)


def test_a_folder_gets_the_exact_body_and_the_rest_beside_it(tmp_path: Path) -> None:
    body = b'{ "model": "\\ud800" }'
    Recorder(sink=DirectorySink(tmp_path / "new" / "folder")).add(received(7, body))
    assert (tmp_path / "new/folder/request-7.json").read_bytes() == body
    meta = msgspec.json.decode((tmp_path / "new/folder/request-7.meta.json").read_bytes())
    assert (meta["method"], meta["target"], meta["body_bytes"]) == ("POST", "/v1/messages?a=b", len(body))
    assert meta["headers"] == [["Host", "x"], ["X-Latin", "é"]]
