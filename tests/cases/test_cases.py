"""The twelve cases at the budget that each names: every check, through the library and through `ullage plan --batch`."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

import ullage

from .checks import CHECKS, Case, Judged
from .doors import ESTIMATOR, PROFILE, by_batch, by_library, load_cases

CASES = {case.id: case for case in load_cases()}
EVERY = [
    pytest.param(case, check, id=f"{case.id}-{check}")
    for case in CASES.values()
    for check in case.checks
    if check in CHECKS
]


def test_each_check_that_a_case_names_is_one_that_is_made() -> None:
    named = {check for case in CASES.values() for check in case.checks}
    compared = {"image_cost_bounded", "image_cost_not_zero"}
    assert {check for check in named if not check.startswith("sweep_budget_")} == CHECKS.keys() | compared
    assert len(CASES) == 12


@pytest.mark.parametrize(("case", "check"), EVERY)
def test_it_holds_in_the_library(case: Case, check: str) -> None:
    CHECKS[check](Judged(case, by_library(case, case.budget["tokens"])))


@pytest.mark.parametrize(("case", "check"), EVERY)
def test_it_holds_in_a_batch(case: Case, check: str, tmp_path: Path, capfdbinary: Any) -> None:
    (outcome,) = by_batch([(case, case.budget["tokens"])], tmp_path, capfdbinary)
    CHECKS[check](Judged(case, outcome))


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("c01-orphan-result", [0, 5, 6, 7, 8, 9]),
        ("c02-parallel-split", [0, 7]),
        ("c03-result-and-text", [4]),
        ("c04-reasoning-pair", [6]),
        ("c06-nothing-to-do", [0, 1, 2, 3]),
        ("c08-reused-call-ids", [0, 5, 6, 7, 8, 9]),
        ("c10-call-in-flight", [0, 1, 2, 3]),
        ("c11-signed-thinking", [4, 5, 6]),
        ("c12-cut-inside-emoji", [0, 1, 2, 3, 4, 5]),
    ],
)
def test_what_is_kept_is_what_the_case_expects(name: str, kept: list[int]) -> None:
    case = CASES[name]
    assert by_library(case, case.budget["tokens"]).kept == kept


def test_image_cost_bounded_a_picture_costs_the_same_however_long_its_data() -> None:
    case = CASES["c07-picture-in-list-content"]
    longer = replace(case, request=_with_pictures(case.request, lambda url: url + "A" * (9 * len(url))))
    costs = {by_library(one, 1_500).tokens for one in (case, longer)}
    assert len(costs) == 1


def test_image_cost_not_zero_a_picture_costs_something() -> None:
    case = CASES["c07-picture-in-list-content"]
    without = copy.deepcopy(case.request)
    without["messages"][1]["content"] = [
        block for block in without["messages"][1]["content"] if block["type"] != "image_url"
    ]
    assert by_library(case, 1_500).tokens > by_library(replace(case, request=without), 1_500).tokens + 50


def test_the_very_bytes_of_a_request_come_out_of_a_batch(tmp_path: Path, capfdbinary: Any) -> None:
    """Spaces, escapes and the order of keys are the client's: its provider's cache goes by them."""
    odd = '{ "messages" : [ {"role":"user","content":"caf\\u00e9 \\ud83e\\udd8a, \u200fwritten"} ] ,"model":"m", "x":1.50 }'
    (tmp_path / "odd.jsonl").write_text(f'{{"dialect":"openai-chat","request":{odd},"input_limit":99,"id":7}}\n')
    from ullage.cli import main

    assert main(["plan", "--batch", str(tmp_path / "odd.jsonl")]) == 0
    out = capfdbinary.readouterr().out
    assert json.loads(out)["id"] == 7
    assert odd.encode() in out


def test_equal_requests_have_equal_plans_however_their_json_is_written() -> None:
    case = CASES["c05-request-in-long-loop"]
    bodies = [
        json.dumps(case.request).encode(),
        json.dumps(case.request, indent=2, ensure_ascii=False).encode(),
        json.dumps(dict(reversed(case.request.items()))).encode(),
    ]
    plans = {
        repr(ullage.plan(ullage.parse_request(body, "openai-chat"), PROFILE, input_limit=1_200, estimator=ESTIMATOR))
        for body in bodies
        for _ in range(20)
    }
    assert len(plans) == 1


def _with_pictures(request: dict[str, Any], change: Any) -> dict[str, Any]:
    changed = copy.deepcopy(request)
    for message in changed["messages"]:
        for block in message["content"] if isinstance(message["content"], list) else ():
            if block["type"] == "image_url":
                block["image_url"]["url"] = change(block["image_url"]["url"])
    return changed
