"""What usage taught, in the reports of `ullage context`: of the live session's model, and of a recorded session."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from ullage.cli import main
from ullage.core.accounting import account, make_meter, report
from ullage.core.content import Context, Message, Part, Usage
from ullage.stores import SqliteStore

from .conftest import AWARENESS, CALLS, NOW_MS, SAMPLES

if TYPE_CHECKING:
    Screen = pytest.CaptureFixture[str]

SESSION = Path(__file__).parents[1] / "golden" / "insights" / "session.in.jsonl"


@pytest.fixture
def live(data_dir: Path) -> None:
    """A session of two calls, the first of which taught nothing, and what earlier ones taught. The model has a window of 200k."""
    meter = make_meter(dialect="anthropic", provider="anthropic", model="claude-opus-4-8", client="claude-code")
    messages = (Message(role="user", parts=(Part(kind="text", text="Go. " * 2_000, wire_type="text"),)),)
    usage = Usage(input_fresh=84_500, output=20)
    breakdown = report(account(Context(messages=messages), meter, usage=usage, window=200_000))
    store = SqliteStore(data_dir / "ullage.db", clock_ms=lambda: NOW_MS)
    store.put_call(msgspec.structs.replace(CALLS[0], breakdown=breakdown))
    store.put_call(CALLS[2])
    for sample in SAMPLES:
        store.put_sample(sample)
    store.close()


def report_of(capsys: Screen, *arguments: object) -> Any:
    assert main(["context", *map(str, arguments), "--json"]) == 0
    return msgspec.json.decode(capsys.readouterr().out)


@pytest.mark.usefixtures("live")
def test_a_live_report_has_what_was_learned_of_its_model(capsys: Screen) -> None:
    calibration = report_of(capsys)["calibration"]
    recorded = AWARENESS["calibration"]
    assert {key: calibration[key] for key in recorded} == recorded
    assert calibration["target"] == "anthropic/claude-opus-4-8"
    assert len(calibration["samples"]) == 12
    assert calibration["samples"][-1]["time"] == "2026-05-28T20:23:40.000Z"
    [refused] = calibration["refused"]
    assert (refused["call"], refused["reason"]) == (CALLS[2].id, "aborted")


@pytest.mark.usefixtures("live")
def test_the_estimator_is_the_one_that_limits_were_counted_by(capsys: Screen, data_dir: Path) -> None:
    store = SqliteStore(data_dir / "ullage.db", clock_ms=lambda: NOW_MS)
    [call] = store.calls(kind="conversation", limit=1)
    learned = {**AWARENESS, "calibration": {**AWARENESS["calibration"], "estimator": "wire-v1"}}
    store.put_call(msgspec.structs.replace(call, awareness=learned))
    store.close()
    calibration = report_of(capsys)["calibration"]
    assert (calibration["estimator"], len(calibration["samples"])) == ("wire-v1", 8)


@pytest.mark.usefixtures("live")
def test_the_window_of_the_models_profile_shows_what_is_free(capsys: Screen) -> None:
    data = report_of(capsys)
    assert (data["window"], data["ullage"]) == (200_000, 115_500)
    assert main(["context"]) == 0
    assert "(42.2% / 200k ctx)" in capsys.readouterr().out


@pytest.mark.usefixtures("live")
def test_the_page_of_a_live_session_draws_it(tmp_path: Path, capsys: Screen) -> None:
    page = tmp_path / "page.html"
    assert main(["context", "--html", str(page)]) == 0
    capsys.readouterr()
    text = page.read_text()
    assert 'id="calibration-scatter"' in text
    assert 'data-reason="aborted"' in text


def test_a_recorded_session_is_calibrated_by_its_own_calls(capsys: Screen) -> None:
    calibration = report_of(capsys, SESSION)["calibration"]
    assert calibration["estimator"] == "wire-v1"
    assert calibration["samples"][0]["call"] == 1
    early = report_of(capsys, SESSION, "--call", 3)["calibration"]
    assert early["samples"] == [
        {**one, "counts": True, "verdict": now["verdict"]}
        for one, now in zip(calibration["samples"], early["samples"], strict=False)
    ]
    assert len(early["samples"]) == 3


def test_a_setting_names_another_estimator(capsys: Screen, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ULLAGE_CALIBRATION__METHOD", "ratio-v1")
    monkeypatch.setenv("ULLAGE_CALIBRATION__ESTIMATOR", "o200k-base-v1")
    assert report_of(capsys, SESSION)["calibration"]["estimator"] == "o200k-base-v1"


def test_a_request_alone_teaches_nothing(capsys: Screen, tmp_path: Path) -> None:
    body = tmp_path / "body.json"
    body.write_text('{"model": "gpt-5.5", "messages": [{"role": "user", "content": "hello"}]}')
    assert report_of(capsys, body, "--dialect", "openai-chat")["calibration"] is None
