"""`ullage plan`: what managed mode would send, for people and for programs."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import aiohttp
import pytest

from tests.sources.rows import pi_entry, pi_header, pi_reply, pi_user, write_lines
from ullage.cli import main
from ullage.core.wire import DIALECTS
from ullage.testing import FakeProvider, make_request, make_tools, make_turns
from ullage.testing.builders import Exchange
from ullage.testing.gateway import run_gateway

if TYPE_CHECKING:
    from collections.abc import Callable

    Golden = Callable[[str, str], None]
    Screen = pytest.CaptureFixture[str]

SESSIONS = Path(__file__).resolve().parents[1] / "data" / "sessions"
LONG = (*make_turns(4, 400), "Look.", *(Exchange(result=f"{number} word " * 600) for number in range(16)), "Seen.")
REQUEST = make_request(
    "anthropic",
    model="claude-opus-4-8",
    turns=(*make_turns(20, 400), "Look at the log.", Exchange(result="word " * 1_500), "Seen.", "And now?"),
    tools=make_tools(2),
    system="Be brief.",
)


@pytest.fixture(autouse=True)
def settled_window() -> None:
    """What is known of the model is what the settings say: catalogues change."""
    folder = Path(os.environ["XDG_CONFIG_HOME"]) / "ullage"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text(
        '[models.overrides."anthropic/claude-opus-4-8"]\ncontext_window = 16000\nmax_output_tokens = 4000\n'
    )


@pytest.fixture
def body(tmp_path: Path) -> str:
    path = tmp_path / "request.json"
    path.write_bytes(REQUEST.body)
    return str(path)


def call(capsys: Screen, *arguments: str) -> tuple[int, str, str]:
    status = main(["plan", *arguments])
    printed = capsys.readouterr()
    return status, printed.out, printed.err


def batch(capsys: Screen, tmp_path: Path, *lines: Any) -> list[dict[str, Any]]:
    path = tmp_path / "batch.jsonl"
    path.write_text("".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines))
    status, out, err = call(capsys, "--batch", str(path))
    assert (status, err) == (0, "")
    answers = [json.loads(line) for line in out.splitlines()]
    assert len(answers) == len(lines)
    return answers


def line(**changes: Any) -> dict[str, Any]:
    return {"id": 1, "dialect": "anthropic", "request": REQUEST.payload, "input_limit": 2_000, **changes}


def test_a_plan_is_told_in_sentences_and_by_groups(capsys: Screen, golden: Golden, body: str) -> None:
    status, out, err = call(capsys, body, "--provider", "anthropic", "--input-limit", "2500")
    assert (status, err) == (0, "")
    golden("plan.txt", out)


def test_the_tail_begins_as_the_settings_say(capsys: Screen, body: str, tmp_path: Path) -> None:
    """A session's first request may begin inside a turn that is too large; a batch takes whole turns, and so does `off`."""
    limit = ("--input-limit", "2500", "--json")
    begun = json.loads(call(capsys, body, *limit)[1])
    assert [one["index"] for one in begun["included"]] == [20, 23, 24]
    assert (begun["cache"]["reason"], begun["cache"]["first"]) == ("first-request", 23)
    with (Path(os.environ["XDG_CONFIG_HOME"]) / "ullage" / "config.toml").open("a") as file:
        file.write('[planning]\ntail = "off"\n')
    walked = json.loads(call(capsys, body, *limit)[1])
    assert ([one["index"] for one in walked["included"]], walked["cache"]) == ([24], None)
    assert batch(capsys, tmp_path, line(input_limit=2_500))[0]["kept"] == [24]


@pytest.mark.parametrize("output", [1_000, 8_000])
async def test_the_preview_is_what_live_mode_sends_of_a_sessions_first_request(
    output: int, body: str, tmp_path: Path
) -> None:
    planned = tmp_path / "planned.json"
    limits = {"context_window": 16_000, "max_output_tokens": 4_000}
    turns, tools, asked = (*LONG, "And now?"), make_tools(2), {"max_tokens": output}
    long = make_request("anthropic", model="claude-opus-4-8", turns=turns, tools=tools, extra=asked)
    Path(body).write_bytes(long.body)
    assert main(["plan", body, "--provider", "anthropic", "--emit", str(planned)]) == 0
    sections: dict[str, Any] = {"mode": "managed", "models": {"refresh": False, "overrides": {"*": limits}}}
    async with (
        FakeProvider() as fake,
        run_gateway(dict.fromkeys(DIALECTS, fake.url), tmp_path, **sections) as gateway,
        aiohttp.ClientSession(headers=long.headers) as client,
        client.post(gateway.url + long.path, data=long.body) as response,
    ):
        assert response.headers["x-ullage-plan"] == "managed"
    assert fake.requests[0].body == planned.read_bytes()


def test_a_request_that_fits_is_told_to_go_as_it_came(capsys: Screen, body: str) -> None:
    _, out, _ = call(capsys, body, "--input-limit", "100000")
    assert "Everything fits: the request goes out as it came" in out


def test_a_request_of_which_too_much_must_be_sent_is_refused_with_status_1(
    capsys: Screen, body: str, tmp_path: Path
) -> None:
    status, out, _ = call(capsys, body, "--input-limit", "300", "--emit", str(tmp_path / "out.json"))
    assert status == 1
    assert "Prompt, tools and framing" in out or "What must be sent takes" in out
    assert not (tmp_path / "out.json").exists()


def test_programs_get_the_manifest(capsys: Screen, body: str) -> None:
    _, out, _ = call(capsys, body, "--provider", "anthropic", "--json")
    told = json.loads(out)
    assert {
        "id",
        "status",
        "target",
        "mode",
        "budget",
        "profile",
        "calibration",
        "cache",
        "included",
        "excluded",
    } <= told.keys()
    assert (told["target"], told["mode"]) == ("anthropic/claude-opus-4-8", "managed")
    assert told["budget"]["context_window"] == 16_000
    assert told["profile"]["sources"]["context_window"]["source"] == "override"
    assert told["limit"] == told["budget"]["hard"]
    assert told["tokens"] <= told["limit"]
    assert told["timings_ms"]["plan"] >= 0
    assert "word word" not in out


def test_without_a_limit_the_window_must_be_known(capsys: Screen, body: str) -> None:
    status, _, err = call(capsys, body, "--provider", "nobody", "--model", "nothing")
    assert status == 1
    assert "The context window of nobody/nothing is not known." in err
    status, _, err = call(capsys, body)
    assert status == 1
    assert "the provider must be named" in err


@pytest.mark.parametrize("arguments", [[], ["a.json", "--batch", "b.jsonl"]])
def test_there_is_one_thing_to_plan(capsys: Screen, arguments: list[str]) -> None:
    assert call(capsys, *arguments)[0] == 2


def test_the_planned_request_is_written_where_it_is_wanted(capsys: Screen, body: str, tmp_path: Path) -> None:
    out = tmp_path / "planned.json"
    call(capsys, body, "--input-limit", "2500", "--emit", str(out))
    planned = json.loads(out.read_bytes())
    theirs = REQUEST.payload["messages"]
    assert 0 < len(planned["messages"]) < len(theirs)
    assert all(message in theirs for message in planned["messages"])
    assert planned["messages"][-1] == theirs[-1]


def test_a_query_is_the_current_request(capsys: Screen, body: str, tmp_path: Path) -> None:
    out = tmp_path / "planned.json"
    call(capsys, body, "--input-limit", "2500", "--query", "What next?", "--emit", str(out))
    assert json.loads(out.read_bytes())["messages"][-1] == {"role": "user", "content": "What next?"}


def test_a_session_is_planned_as_its_client_would_send_it(capsys: Screen, tmp_path: Path) -> None:
    path = next((SESSIONS / "pi").glob("*.jsonl"))
    out = tmp_path / "planned.json"
    status, shown, err = call(capsys, str(path), "--input-limit", "100000", "--query", "Go on.", "--emit", str(out))
    assert (status, err) == (0, "")
    assert shown.startswith("Plan for ")
    assert "Go on." in json.dumps(json.loads(out.read_bytes()))


@pytest.mark.parametrize("api", ["anthropic-messages", "openai-completions", "openai-responses"])
def test_what_a_session_of_pi_says_is_to_be_kept_is_kept(capsys: Screen, tmp_path: Path, api: str) -> None:
    base = {"schemaVersion": 1, "createdAt": 1, "operation": "add"}
    pins = (
        {"id": "p1", "scope": "session", "content": "MARK-PIN"},
        {"id": "p2", "scope": "project", "content": "MARK-PROJECT", "projectPath": "/project"},
        {"id": "p3", "scope": "project", "content": "MARK-ELSEWHERE", "projectPath": "/elsewhere"},
        {"id": "p4", "scope": "branch", "content": "MARK-BRANCH", "branchLeafId": "a1"},
        {"id": "p5", "scope": "branch", "content": "MARK-OTHER-BRANCH", "branchLeafId": "x1"},
    )
    ours = {"id": "m1", "created_ms": 2, "kind": "pin", "scope": "session", "session": "0198-pi", "op": "add"}
    path = write_lines(
        tmp_path / "session.jsonl",
        [
            pi_header(),
            pi_user("u1", None, "MARK-FIRST"),
            pi_reply("a1", "u1", "MARK-ANSWER", api=api),
            pi_user("u2", "a1", "MARK-FILLER " + "word " * 4_000),
            pi_reply("a2", "u2", api=api),
            pi_entry("label", "l1", "a2", targetId="a1", label="ds4:pin"),
            *(
                pi_entry(
                    "custom",
                    pin["id"],
                    "l1",
                    customType="ds4-context-pin-v1",
                    data={**base, "mutationId": pin["id"], "item": pin},
                )
                for pin in pins
            ),
            pi_entry(
                "custom",
                "k1",
                "p5",
                customType="ullage.kept",
                data={**ours, "item": "i1", "payload": {"text": "MARK-OURS"}},
            ),
            pi_entry("custom", "k2", "k1", customType="ullage.kept", data="nonsense"),
            pi_user("u3", "k2", "And now?"),
            pi_reply("a3", "u3", api=api),
        ],
    )
    out = tmp_path / "planned.json"
    status, shown, err = call(capsys, str(path), "--input-limit", "3000", "--emit", str(out), "--json")
    assert (status, err) == (0, "")
    sent = out.read_text()
    kept = ("MARK-FIRST", "MARK-ANSWER", "MARK-PIN", "MARK-PROJECT", "MARK-BRANCH", "MARK-OURS")
    left = ("MARK-FILLER", "MARK-ELSEWHERE", "MARK-OTHER-BRANCH")
    assert [mark for mark in kept if mark not in sent] == [] and [mark for mark in left if mark in sent] == []
    report = json.loads(shown)
    reasons = [one["reason"] for one in report["included"]]
    assert reasons == ["labelled-pin", "labelled-pin", "current"] and len(report["supplements"]) == 4


def test_a_shape_that_is_not_planned_is_told(capsys: Screen, body: str) -> None:
    status, _, err = call(capsys, body, "--dialect", "bedrock", "--input-limit", "9")
    assert status == 2
    assert "'bedrock' is not planned" in err


def test_a_batch_answers_line_by_line(capsys: Screen, tmp_path: Path) -> None:
    small, large, refused = batch(
        capsys, tmp_path, line(), line(id="b", input_limit=10**6), line(id=None, input_limit=0)
    )
    assert (small["id"], small["status"]) == (1, "managed")
    assert small["tokens"] <= small["limit"] == 2_000
    assert sorted([*small["kept"], *small["dropped"]]) == list(range(len(REQUEST.payload["messages"])))
    assert small["request"]["messages"] == [REQUEST.payload["messages"][index] for index in small["kept"]]
    assert sum(small["reasons"].values()) == len(small["dropped"])
    assert (large["id"], large["status"], large["request"]) == ("b", "unchanged", REQUEST.payload)
    assert (refused["id"], refused["status"], "request" in refused) == (None, "refused", False)
    assert refused["error"].startswith("Prompt, tools and framing take")


def test_without_a_limit_a_batch_goes_by_the_window(capsys: Screen, tmp_path: Path) -> None:
    known = line(provider="anthropic")
    del known["input_limit"]
    unknown = {**known, "provider": "nobody", "model": "nothing"}
    planned, failed = batch(capsys, tmp_path, known, unknown)
    assert (planned["status"], planned["limit"]) == ("unchanged", planned["limit"])
    assert 0 < planned["limit"] < 16_000
    assert failed == {"id": 1, "error": "The context window of nobody/nothing is not known."}


def test_counts_names_the_estimator(capsys: Screen, tmp_path: Path) -> None:
    answers = batch(capsys, tmp_path, line(), line(counts="o200k"), line(counts="chars-v1"), line(counts="wire-v1"))
    assert [answer["estimator"] for answer in answers] == ["wire-v1", "o200k-base-v1", "chars-v1", "wire-v1"]


def test_a_scope_of_messages_leaves_prompt_and_tools_out_of_the_count(capsys: Screen, tmp_path: Path) -> None:
    whole, messages = batch(capsys, tmp_path, line(input_limit=10**6), line(input_limit=10**6, scope="messages"))
    assert messages["tokens"] < whole["tokens"]


def test_pins_and_excerpts_are_heeded(capsys: Screen, tmp_path: Path) -> None:
    pinned, shortened = batch(
        capsys, tmp_path, line(pins=["/messages/1"]), line(excerpts=True, scope="messages", input_limit=700)
    )
    assert 1 in pinned["kept"]
    (replaced,) = shortened["replaced"]
    assert replaced["reason"] == "excerpt"
    assert "characters of this result are omitted" in json.dumps(shortened["request"], ensure_ascii=False)


@pytest.mark.parametrize(
    ("bad", "told"),
    [
        ("", "The line is empty."),
        ("[]", "The line is no JSON object."),
        ("{ not json", "The line is no JSON object."),
        ({"id": 1, "dialect": "anthropic"}, "`request` is no JSON object."),
        (line(request="text"), "`request` is no JSON object."),
        (line(dialect="cobol"), "`dialect` is none of openai-chat, openai-responses, anthropic, gemini."),
        (line(dialect=7), "`dialect` is no text."),
        (line(input_limit=-1), "`input_limit` is no number of tokens from 0 on."),
        (line(input_limit=True), "`input_limit` is no number of tokens from 0 on."),
        (line(input_limit="9"), "`input_limit` is no number of tokens from 0 on."),
        (line(scope="all"), "`scope` is none of request, messages."),
        (line(counts="guess"), "`counts` is none of wire-v1, o200k-base-v1, chars-v1, inspector-v2, inspector-v1."),
        (line(pins="x"), "`pins` is no list of JSON pointers."),
        (line(pins=["/tools/0"]), "'/tools/0' points to no message of the request."),
        (line(excerpts="yes"), "`excerpts` is neither true nor false."),
    ],
)
def test_a_bad_line_is_told_and_stops_no_other(bad: Any, told: str, capsys: Screen, tmp_path: Path) -> None:
    before, answer, after = batch(capsys, tmp_path, line(), bad, line())
    assert before["status"] == after["status"] == "managed"
    assert answer == {"id": answer["id"], "error": told}


def test_protocol_is_another_word_for_dialect_and_keys_tell_it_too(capsys: Screen, tmp_path: Path) -> None:
    by_protocol = line(protocol="anthropic-messages")
    by_keys = line()
    del by_protocol["dialect"], by_keys["dialect"]
    assert [answer["status"] for answer in batch(capsys, tmp_path, by_protocol, by_keys)] == ["managed", "managed"]


def test_a_batch_is_read_from_standard_input_too(capsys: Screen, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(json.dumps(line()).encode())))
    status, out, _ = call(capsys, "--batch", "-")
    assert (status, json.loads(out)["status"]) == (0, "managed")
