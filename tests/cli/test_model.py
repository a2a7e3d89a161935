"""`ullage model`: profile, what was learned, and limits; for one model and for all that were used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from ullage.cli import main
from ullage.core.accounting import Meter, make_meter
from ullage.core.profiles import Layer
from ullage.stores import SqliteStore

from .conftest import AWARENESS, LAYERS, NOW_MS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Golden = Callable[[str, str], None]
    Screen = pytest.CaptureFixture[str]


class Published:
    """Catalogues with two models."""

    def layers(self, provider: str, model: str) -> tuple[Layer, ...]:
        return LAYERS.get((provider, model), ())


@pytest.fixture(autouse=True)
def published(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ullage.cli.model_knowledge.load_now", lambda cache_dir, *, refresh: Published())
    monkeypatch.setattr("ullage.cli.records.now_ms", lambda: NOW_MS)


def call(capsys: Screen, *arguments: str) -> tuple[int, str, str]:
    status = main(["model", *arguments])
    printed = capsys.readouterr()
    return status, printed.out, printed.err


def call_json(capsys: Screen, *arguments: str) -> Any:
    status, out, _ = call(capsys, *arguments, "--json")
    assert status == 0
    return msgspec.json.decode(out)


@pytest.mark.usefixtures("recorded")
def test_a_model_is_shown_with_all_that_was_learned(capsys: Screen, golden: Golden) -> None:
    status, out, _ = call(capsys, "anthropic/claude-opus-4-8")
    assert status == 0
    golden("model.txt", out)


@pytest.mark.usefixtures("recorded")
def test_a_model_is_shown_by_its_ratio_where_that_is_set(
    capsys: Screen, golden: Golden, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ULLAGE_CALIBRATION__METHOD", "ratio-v1")
    golden("model_by_ratio.txt", call(capsys, "anthropic/claude-opus-4-8")[1])


@pytest.mark.usefixtures("recorded")
def test_all_models_that_were_used_are_listed_the_last_used_first(capsys: Screen, golden: Golden) -> None:
    _, out, _ = call(capsys)
    golden("models.txt", out)


def test_a_model_that_was_never_used_is_what_the_catalogues_say(capsys: Screen, golden: Golden) -> None:
    """Without any database: a figure of a similar model is marked."""
    status, out, err = call(capsys, "anthropic/claude-haiku-4-5")
    assert (status, err) == (0, "")
    golden("model_unused.txt", out)


def test_nothing_is_made_up_of_a_model_that_nobody_knows(capsys: Screen) -> None:
    shown = call_json(capsys, "nobody/nothing/at-all")
    assert shown["target"] == "nobody/nothing/at-all"
    assert shown["profile"]["model"] == "nothing/at-all"
    assert (shown["profile"]["context_window"], shown["budget"], shown["adaptive"]) == (None, None, None)
    assert (shown["latest"], shown["last_at"], shown["growth"]) == (None, None, [])
    assert shown["calibration"]["observed"] == 0


@pytest.mark.usefixtures("recorded")
def test_the_figures_are_those_that_the_daemon_recorded_of_the_same_samples(
    capsys: Screen, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ULLAGE_CALIBRATION__METHOD", "ratio-v1")
    monkeypatch.setenv("ULLAGE_CALIBRATION__AUTO_TUNE", "true")
    shown = call_json(capsys, "anthropic/claude-opus-4-8")
    assert {name: shown[name] for name in AWARENESS} == msgspec.json.decode(msgspec.json.encode(AWARENESS))


@pytest.mark.usefixtures("recorded")
def test_settings_decide_what_counts(capsys: Screen, data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ULLAGE_CALIBRATION__WINDOW", "3")
    shown = call_json(capsys, "anthropic/claude-opus-4-8")
    assert shown["calibration"]["observed"] == 3
    monkeypatch.setenv("ULLAGE_MODELS__ENABLED", "false")
    shown = call_json(capsys, "anthropic/claude-opus-4-8")
    assert (shown["calibration"]["calibrated"], shown["budget"]["ratio"]) == (False, 1.0)


@pytest.mark.usefixtures("recorded")
def test_limits_are_drawn_from_the_line_of_the_newest_call(capsys: Screen) -> None:
    shown = call_json(capsys, "anthropic/claude-opus-4-8")
    [law] = shown["growth"]
    calibration, latest = shown["calibration"], shown["latest"]
    assert (law["client"], law["pairs"], calibration["pairs"]) == ("claude-code", 8, 8)
    assert (calibration["estimator"], latest["estimated"]) == ("wire-v1", 80_000)
    prompt = latest["input_fresh"] + latest["cache_read"] + latest["cache_write"]
    assert calibration["offset"] == pytest.approx(prompt - law["k"] * latest["estimated"], abs=1e-4)
    assert (shown["budget"]["ratio"], shown["budget"]["offset"]) == (
        pytest.approx(law["k"]),
        pytest.approx(calibration["offset"], abs=1e-6),
    )
    _, out, _ = call(capsys, "anthropic/claude-opus-4-8")
    assert "(growth-v1), 8 pairs of calls" in out


@pytest.mark.usefixtures("recorded")
def test_what_grew_is_judged_by_the_dialect_of_the_newest_call(capsys: Screen, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the daemon does it: families may grow otherwise in another dialect."""
    asked: list[str | None] = []

    def spy(*, dialect: str | None, **more: Any) -> Meter:
        asked.append(dialect)
        return make_meter(dialect=dialect, **more)

    monkeypatch.setattr("ullage.engine.known.make_meter", spy)
    call_json(capsys, "anthropic/claude-opus-4-8")
    assert asked == ["anthropic"]


@pytest.mark.usefixtures("recorded")
def test_the_list_for_programs_has_what_the_table_shows(capsys: Screen) -> None:
    models = call_json(capsys)["models"]
    assert [(one["target"], one["context_window"], one["calibration"]["accepted"]) for one in models] == [
        ("anthropic/claude-opus-4-8", 200_000, 8),
        ("anthropic/claude-haiku-4-5", 200_000, 0),
        ("openai/gpt-5", None, 0),
    ]
    assert models[0]["last_at"] == "2026-05-28T20:23:40.000Z"


def test_without_a_database_no_model_was_used(capsys: Screen, data_dir: Path) -> None:
    status, out, _ = call(capsys)
    assert (status, out.split(".")[0]) == (0, "No model was used yet")
    assert call_json(capsys) == {"models": []}
    assert not data_dir.exists()


def test_a_database_that_cannot_be_read_is_told(capsys: Screen, data_dir: Path) -> None:
    data_dir.mkdir(parents=True)
    (data_dir / "ullage.db").write_bytes(b"no database at all, but long enough to have a header" * 40)
    status, out, err = call(capsys, "anthropic/claude-opus-4-8")
    assert (status, out) == (1, "")
    assert err.startswith("ullage: ")


def test_records_in_the_memory_of_a_daemon_cannot_be_looked_at(capsys: Screen, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ULLAGE_STORE__URL", "memory")
    status, out, err = call(capsys, "anthropic/claude-opus-4-8")
    assert (status, out.splitlines()[0]) == (0, "model        anthropic/claude-opus-4-8")
    assert "in the running daemon alone" in err


@pytest.mark.parametrize("target", ["claude-opus-4-8", "anthropic/", "/gpt-5", "", "\x1b[31m"])
def test_half_a_name_is_a_wrong_call(capsys: Screen, target: str) -> None:
    status, out, err = call(capsys, target)
    assert (status, out) == (2, "")
    assert "names no provider and model" in err
    assert "\x1b" not in err


def test_a_name_from_the_wire_cannot_steer_the_terminal(capsys: Screen, data_dir: Path) -> None:
    SqliteStore(data_dir / "ullage.db", clock_ms=lambda: 0).close()
    _, out, _ = call(capsys, "openai/gpt-5\x1b[31m")
    assert "\x1b" not in out
    assert "gpt-5·[31m" in out
