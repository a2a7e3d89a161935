"""`ullage route`: which model a prompt would go to, for people and for programs."""

from __future__ import annotations

import io
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ullage.cli import main

if TYPE_CHECKING:
    from collections.abc import Callable

    Golden = Callable[[str, str], None]
    Screen = pytest.CaptureFixture[str]

DEBUG = "Debug this failing test"


def record(name: str, *prices: float, **facts: Any) -> dict[str, Any]:
    cost = dict(zip(("input", "output", "cacheRead", "cacheWrite"), prices, strict=True))
    known = {"reasoning": True, "input": ["text", "image"], "contextWindow": 200_000, "maxTokens": 32_000}
    return {"provider": "anthropic", "id": name, "cost": cost, **known, **facts}


@pytest.fixture
def models(tmp_path: Path) -> str:
    path = tmp_path / "models.json"
    listed = [
        record("claude-opus-5", 15, 75, 1.5, 18.75),
        record("claude-sonnet", 3, 15, 0.3, 3.75),
        record("claude-haiku", 0.8, 4, 0.08, 1, input=["text"]),
    ]
    path.write_text(json.dumps(listed))
    return str(path)


def call(capsys: Screen, *arguments: str) -> tuple[int, str, str]:
    status = main(["route", *arguments])
    printed = capsys.readouterr()
    return status, printed.out, printed.err


def test_a_route_is_told_with_what_would_have_turned_it(capsys: Screen, golden: Golden, models: str) -> None:
    status, out, err = call(capsys, DEBUG, "--models", models, "--explain")
    assert (status, err) == (0, "")
    golden("route.txt", out)


def test_a_session_is_told_what_staying_and_leaving_cost(capsys: Screen, golden: Golden, models: str) -> None:
    status, out, _ = call(
        capsys,
        DEBUG,
        "--models",
        models,
        "--images",
        "--context-tokens",
        "40000",
        "--current",
        "anthropic/claude-opus-5",
    )
    assert status == 0
    golden("route_current.txt", out)


def test_a_route_is_json_of_the_documented_shape(capsys: Screen, models: str) -> None:
    status, out, err = call(capsys, DEBUG, "--models", models, "--json", "--explain")
    report = json.loads(out)
    assert (status, err, report["target"], report["thinking"]) == (0, "", "anthropic/claude-sonnet", "low")
    assert report["margin"] == pytest.approx(0.0232, abs=1e-3)
    assert report["explanation"]["rival"] == "anthropic/claude-haiku"
    assert [one["target"].rpartition("-")[2] for one in report["ranked"]] == ["sonnet", "haiku", "5"]


def test_where_nobody_may_take_it_the_status_is_one(capsys: Screen, models: str) -> None:
    status, out, _ = call(capsys, DEBUG, "--models", models, "--context-tokens", "190000")
    assert status == 1
    assert out.startswith("Route: none\nWhy: ")
    assert "window-too-small" in out


def test_rules_apply_and_a_wrong_one_is_told(capsys: Screen, models: str, tmp_path: Path) -> None:
    rules = tmp_path / "rules.json"
    rules.write_text('{"rules": [{"name": "a", "then": {}}], "scenarios": {"test": "cost", "reveiw": "best"}}')
    status, out, _ = call(capsys, DEBUG, "--models", models, "--config", str(rules), "--explain")
    assert status == 0
    assert "Rule: test\n" in out
    assert "Note: rules[0].then: it has no action\n" in out
    assert "Note: scenarios.reveiw: there is no such scenario; did you mean 'review'?\n" in out
    assert "anthropic/claude-haiku, thinking low, by the policy cost" in out


def test_pools_constraints_and_the_usual_policy_come_from_the_settings(
    capsys: Screen, models: str, tmp_path: Path
) -> None:
    config = tmp_path / "auto-model.json"
    settings = {
        "policy": "cost",
        "pool": "small",
        "pools": {
            "small": {"targets": [{"id": "anthropic/claude-haiku"}, {"id": "anthropic/claude-sonnet", "weight": 2}]}
        },
        "constraints": {"modelExclude": ["*haiku"]},
    }
    config.write_text(json.dumps(settings))
    _, out, _ = call(capsys, DEBUG, "--models", models, "--config", str(config), "--json")
    report = json.loads(out)
    assert (report["target"], report["policy"]) == ("anthropic/claude-sonnet", "cost")
    assert {one["code"] for one in report["excluded"]} == {"model-excluded", "not-in-pool"}
    _, out, _ = call(capsys, DEBUG, "--models", models, "--config", str(config), "--policy", "best", "--json")
    assert json.loads(out)["policy"] == "best"


def test_without_a_file_the_models_are_those_that_the_settings_name(capsys: Screen) -> None:
    folder = Path(os.environ["XDG_CONFIG_HOME"]) / "ullage"
    folder.mkdir(parents=True)
    facts = "context_window = 200000\nmax_output_tokens = 8192\nimages = true\ninput_price = {}\noutput_price = {}\n"
    named = {"here/claude-sonnet": (3, 15), "here/claude-haiku": (0, 0), "*": (1, 1)}
    sections = (f'[models.overrides."{name}"]\n{facts.format(*prices)}' for name, prices in named.items())
    (folder / "config.toml").write_text("".join(sections))
    status, out, err = call(capsys, DEBUG, "--json", "--policy", "cost")
    report = json.loads(out)
    assert (status, err) == (0, "")
    assert [(one["target"], one["cost"]["usd"] == 0, one["cost"]["source"]) for one in report["ranked"]] == [
        ("here/claude-haiku", True, "override"),
        ("here/claude-sonnet", False, "override"),
    ]


def settle(text: str) -> None:
    folder = Path(os.environ["XDG_CONFIG_HOME"]) / "ullage"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text(text)


NAMED = """
[providers.here]
url = "http://127.0.0.1:9000"
dialects = ["openai-chat"]
models = ["claude-opus-5", "claude-haiku"]
[models.overrides."here/*"]
context_window = 200000
max_output_tokens = 32000
input_price = 1
output_price = 5
[routing.targets."here/claude-opus-5"]
aa = 60
[routing.targets."here/claude-haiku"]
aa = 10
"""


def test_without_a_file_the_models_are_those_of_the_providers_that_can_be_reached(capsys: Screen) -> None:
    settle(
        NAMED
        + "[routing]\npolicy = 'best'\ncapability_source = 'aa'\n[routing.constraints]\nmodel_exclude = ['*-haiku']\n"
    )
    status, out, err = call(capsys, DEBUG, "--json")
    report = json.loads(out)
    assert (status, err, report["policy"]) == (0, "", "best")
    assert report["target"] == "here/claude-opus-5"
    assert [(one["target"], one["code"]) for one in report["excluded"]] == [("here/claude-haiku", "model-excluded")]


def test_a_route_may_be_asked_as_for_an_alias(capsys: Screen) -> None:
    settle(NAMED + "[routing.aliases.small]\nmodels = ['*-haiku']\npolicy = 'cost'\n")
    _, out, _ = call(capsys, DEBUG, "--json", "--alias", "small")
    report = json.loads(out)
    assert (report["policy"], report["target"]) == ("cost", "here/claude-haiku")
    assert call(capsys, DEBUG, "--alias", "smal")[2].startswith(
        "ullage: There is no alias 'smal'.\nhint: Did you mean 'small'?"
    )


def test_without_anybody_to_ask_it_is_told_what_is_missing(capsys: Screen) -> None:
    settle("[providers.corp]\nurl = 'https://llm.corp.example'\ndialects = ['openai-chat']\nkey = 'env:CORP_KEY'\n")
    status, _, err = call(capsys, DEBUG)
    assert status == 2
    assert "corp: CORP_KEY is not set." in err
    assert "OPENAI_API_KEY" in err


def test_a_prompt_may_come_from_standard_input(capsys: Screen, models: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(f"@ultra {DEBUG}".encode())))
    _, out, _ = call(capsys, "-", "--models", models, "--json")
    assert json.loads(out)["target"] == "anthropic/claude-opus-5"


def test_every_line_of_a_batch_has_its_answer(capsys: Screen, models: str, tmp_path: Path) -> None:
    batch = tmp_path / "prompts.jsonl"
    lines = [
        json.dumps({"id": 1, "prompt": DEBUG}),
        json.dumps({"id": "b", "prompt": DEBUG, "policy": "cost"}),
        json.dumps({"id": 3, "prompt": DEBUG, "images": True, "policy": "price"}),
        json.dumps({"id": 4, "prompt": "@again-stronger x", "current": "anthropic/claude-haiku"}),
        json.dumps({"id": 5, "prompt": DEBUG, "policy": "cheap"}),
        json.dumps({"id": 6, "prompt": 7}),
        json.dumps({"id": 7}),
        json.dumps({"id": 8, "prompt": DEBUG, "context_tokens": -1}),
        json.dumps({"id": 9, "prompt": DEBUG, "contxt_tokens": 1}),
        json.dumps({"id": 10, "prompt": DEBUG, "who": 1}),
        "no json",
        '{"id": 9, "prompt": "x", "current": ' + "[" * 3_000 + "]" * 3_000 + "}",
    ]
    batch.write_text("".join(f"{line}\n" for line in lines))
    status, out, err = call(capsys, "--batch", str(batch), "--models", models)
    answers = [json.loads(line) for line in out.splitlines()]
    assert (status, err) == (1, "ullage: 8 of 12 lines cannot be used; each has its `error`.\n")
    assert [answer["id"] for answer in answers] == [1, "b", 3, 4, 5, 6, 7, 8, 9, 10, None, None]
    assert [answer["target"].rpartition("-")[2] for answer in answers[:3]] == ["sonnet", "haiku", "sonnet"]
    assert answers[3]["target"] != "anthropic/claude-haiku"
    assert answers[0]["confidence"] < 1
    assert all(answer["error"] for answer in answers[4:])
    assert answers[8]["error"] == "There is no field 'contxt_tokens'. Did you mean 'context_tokens'?"
    assert answers[9]["error"].startswith("There is no field 'who'. Known are id, prompt, context_tokens, images, ")


def test_a_batch_of_nothing_is_told(capsys: Screen, models: str, tmp_path: Path) -> None:
    batch = tmp_path / "none.jsonl"
    batch.touch()
    told = "ullage: The batch holds no lines; `ullage route --help` says what a line is.\n"
    assert call(capsys, "--batch", str(batch), "--models", models) == (0, "", told)


def test_a_batch_without_a_mistake_has_the_status_zero(capsys: Screen, models: str, tmp_path: Path) -> None:
    batch = tmp_path / "prompts.jsonl"
    batch.write_text(json.dumps({"prompt": DEBUG}))
    status, _, err = call(capsys, "--batch", str(batch), "--models", models)
    assert (status, err) == (0, "")


def test_of_many_that_are_left_out_for_one_reason_a_number_is_told(capsys: Screen, tmp_path: Path) -> None:
    ids = [f"m{number}" for number in range(9)]
    listed = [{"provider": "p", "id": name, "context_window": 1, "max_output_tokens": 1} for name in ids]
    listed.append({"provider": "p", "id": "good", "context_window": 200_000, "max_output_tokens": 32_000})
    models = tmp_path / "models.json"
    models.write_text(json.dumps(listed))
    _, out, _ = call(capsys, DEBUG, "--models", str(models))
    assert "p/m0 and 8 more  window-too-small" in out
    assert "p/m1" not in out
    _, out, _ = call(capsys, DEBUG, "--models", str(models), "--explain")
    assert all(f"p/{name} " in out for name in ids)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Give either a PROMPT or --batch"),
        (["x", "--batch", "-"], "Give either a PROMPT or --batch"),
        (["x"], "No provider can be reached, and none was called yet."),
        (["x", "--models", "MODELS", "--policy", "cheap"], "'cheap' is no policy"),
    ],
)
def test_a_call_that_makes_no_sense_is_told(capsys: Screen, models: str, arguments: list[str], message: str) -> None:
    status, out, err = call(capsys, *[models if one == "MODELS" else one for one in arguments])
    assert status in (1, 2)
    assert out == ""
    assert message in err
