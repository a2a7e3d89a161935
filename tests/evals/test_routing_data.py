"""Published outcomes of models, as they are read."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.evals.outcomes import write_folder
from ullage.core.errors import InputError
from ullage.evals.routing_data import STRONG, WEAK, Outcome, pair_of, read_folder, repository_of


def test_every_known_file_of_a_folder_is_read(tmp_path: Path) -> None:
    found = read_folder(write_folder(tmp_path / "data"))
    assert [one.name for one in found.sets] == ["swe_bench_verified", "llmrouter_nine_models", "gsm8k_two_models"]
    assert [len(one.items) for one in found.sets] == [40, 30, 60]
    assert [one.unit for one in found.sets] == ["USD", "calls", "strong calls"]
    assert found.missing == ()


def test_an_issue_is_known_by_its_repository(tmp_path: Path) -> None:
    item = read_folder(write_folder(tmp_path / "data")).sets[0].items[0]
    assert (item.id, item.group) == ("made__r0-0", "made/r0")
    assert item.prompt == "Fix this issue in made/r0"
    assert item.outcomes[0] == Outcome(1.0, 0.3, 12)


@pytest.mark.parametrize(
    ("instance", "repository"),
    [("django__django-11001", "django/django"), ("scikit-learn__scikit-learn-9", "scikit-learn/scikit-learn")],
)
def test_the_repository_of_an_instance_is_all_but_its_number(instance: str, repository: str) -> None:
    assert repository_of(instance) == repository


def test_of_two_models_the_strong_one_is_what_is_spent(tmp_path: Path) -> None:
    data = read_folder(write_folder(tmp_path / "data")).sets[2]
    assert data.models == (WEAK, STRONG)
    assert data.items[0].outcomes == (Outcome(0.0, 0.0), Outcome(1.0, 1.0))
    assert pair_of(data) is data


def test_a_file_that_is_not_there_is_named_and_the_rest_is_read(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "data")
    (folder / "gsm8k_two_models.jsonl").unlink()
    (folder / "aider_polyglot.csv").unlink()
    found = read_folder(folder)
    assert found.missing == ("gsm8k_two_models", "aider_polyglot")
    assert len(found.sets) == 2


def test_a_folder_without_outcomes_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no outcomes of models") as caught:
        read_folder(tmp_path)
    assert caught.value.code == "not_found"


@pytest.mark.parametrize(
    ("file", "line", "told"),
    [
        ("swe_bench_verified.csv", "a__b-1,gpt-5,yes,0.1,3", "line 82 is no outcome"),
        ("swe_bench_verified.csv", "a__b-1,gpt-5,1,0.1,3", "a__b-1 has no outcome of gpt-5-mini"),
        ("gsm8k_two_models.jsonl", '{"prompt": "x"}', "line 61 is no question"),
        ("aider_polyglot.csv", "gpt-5,2025-01-01,diff,,many,,,225", "line 4 is no run"),
    ],
)
def test_a_line_that_is_something_else_is_named(tmp_path: Path, file: str, line: str, told: str) -> None:
    path = write_folder(tmp_path / "data") / file
    path.write_text(f"{path.read_text()}{line}\n")
    with pytest.raises(InputError, match=told):
        read_folder(path.parent)


@pytest.mark.parametrize(
    ("file", "text"),
    [("swe_bench_verified.csv", "instance,model,resolved,cost_usd,calls\n"), ("gsm8k_two_models.jsonl", "\n")],
)
def test_a_file_without_outcomes_is_told(tmp_path: Path, file: str, text: str) -> None:
    path = write_folder(tmp_path / "data") / file
    path.write_text(text)
    with pytest.raises(InputError, match="holds no outcomes"):
        read_folder(path.parent)


def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no outcomes of models"):
        read_folder(tmp_path / "nowhere")


def test_a_packed_file_that_is_cut_is_told(tmp_path: Path) -> None:
    path = write_folder(tmp_path / "data") / "llmrouter_nine_models.jsonl.xz"
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(InputError, match="cannot be read"):
        read_folder(path.parent)
