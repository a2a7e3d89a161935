"""What `ullage auto` sets, for whom, and what it refuses."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cli.auto.routed import ATTIC, CELLAR
from tests.gateway.routes import FRONTIER, LIGHT, STRONG
from ullage.stores import open_reader

if TYPE_CHECKING:
    from typing import Any

    from .conftest import Run, Tell

pytestmark = pytest.mark.usefixtures("routed")


def set_for(data_dir: Path, session: str = "") -> dict[str, Any]:
    reader = open_reader("sqlite", data_dir)
    try:
        return reader.route_overrides(session)
    finally:
        reader.close()


@pytest.mark.parametrize(
    ("arguments", "key", "value"),
    [
        (("on",), "activation", "active"),
        (("off",), "activation", "off"),
        (("mode", "best"), "policy", "best"),
        (("mode", "price"), "policy", "cost"),
        (("pin", FRONTIER), "pin", FRONTIER),
        (("pool", "pair"), "pool", "pair"),
        (("pool", "off"), "pool", ""),
        (("thinking", "auto"), "thinking", "auto"),
        (("thinking", "pi"), "thinking", "pi"),
        (("thinking", "fixed", "xhigh"), "thinking", "xhigh"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_it_is_set_for_the_newest_routed_session_and_that_is_said(
    run: Run, data_dir: Path, arguments: tuple[str, ...], key: str, value: str
) -> None:
    status, out, err = run("auto", *arguments)
    assert status == 0 and out.endswith("for session 3f2a91c0.\n")
    assert err == "ullage: It is for session 3f2a91c0 (claude-code, 3 min ago); --session ID names another.\n"
    assert set_for(data_dir, CELLAR) == {key: value}
    assert set_for(data_dir) == set_for(data_dir, ATTIC) == {}


def test_default_is_for_all_sessions_but_those_with_their_own(run: Run, tell: Tell, data_dir: Path) -> None:
    run("auto", "pin", LIGHT, "--session", CELLAR)
    status, out, err = run("auto", "pin", STRONG, "--default")
    assert (status, err) == (0, "")
    assert out.splitlines() == [
        f"{STRONG} is pinned, from the next request on, for all sessions.",
        f"Note: session 3f2a91c0 has its own, {LIGHT}, and keeps it.",
    ]
    assert (set_for(data_dir, ATTIC), set_for(data_dir, CELLAR)) == ({"pin": STRONG}, {"pin": LIGHT})
    assert tell("auto", "--session", ATTIC)["pin"] == {"value": STRONG, "source": "all sessions"}
    assert tell("auto")["pin"] == {"value": LIGHT, "source": "session"}


def test_what_was_set_can_be_taken_back(run: Run, tell: Tell, data_dir: Path) -> None:
    for arguments in (("pin", LIGHT), ("mode", "best"), ("pool", "pair"), ("thinking", "pi")):
        run("auto", *arguments)
    assert len(set_for(data_dir, CELLAR)) == 4
    for words in ("unpin", "mode --clear", "pool --clear", "thinking --clear"):
        assert run("auto", *words.split())[0] == 0
    assert set_for(data_dir, CELLAR) == {}
    assert tell("auto", "mode")["policy"] == {"value": "balanced", "source": "settings"}


def test_whoever_takes_something_back_is_told_what_holds_again(run: Run, config: Path) -> None:
    def told(*arguments: str) -> str:
        return run("auto", *arguments)[1].strip()

    run("auto", "mode", "cost", "--default")
    written = next(
        number for number, line in enumerate(config.read_text().splitlines(), 1) if line.startswith("policy")
    )
    assert told("mode", "--clear", "--default") == (
        f"The policy is cost again, as {config}:{written} says, for all sessions."
    )
    assert told("thinking", "--clear", "--default") == "Thinking is auto again, as by default, for all sessions."
    assert told("pool", "--clear") == "The pool is none again, as by default, for session 3f2a91c0."
    run("auto", "pin", STRONG, "--default")
    assert told("unpin") == "The pin is none again, as by default, for session 3f2a91c0."
    assert told("unpin", "--default") == "The pin is none again, as by default, for all sessions."


def test_pool_off_is_no_pool_whatever_the_settings_say(run: Run, tell: Tell, config: Path) -> None:
    config.write_text(config.read_text().replace("[routing]", '[routing]\npool = "pair"'))
    assert tell("auto", "pool")["pool"] == {"value": "pair", "source": "settings"}
    run("auto", "pool", "off")
    assert tell("auto", "pool")["pool"] == {"value": None, "source": "session"}


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        (("mode", "bst"), "There is no policy 'bst'.", "Did you mean 'best'?"),
        (("mode", "zzz"), "There is no policy 'zzz'.", "The policies are balanced, best, cost, fast."),
        (("pool", "Pair"), "There is no pool 'Pair'.", "Did you mean 'pair'?"),
        (("pin", FRONTIER.upper()), f"There is no target '{FRONTIER.upper()}'.", f"Did you mean '{FRONTIER}'?"),
        (("pin", FRONTIER + "0"), f"There is no target '{FRONTIER}0'.", f"Did you mean '{FRONTIER}'?"),
        (("pin", "claude-opus-5"), "There is no target 'claude-opus-5'.", f"Did you mean '{FRONTIER}'?"),
        (("pin", "claude-opus-6"), "There is no target 'claude-opus-6'.", f"Did you mean '{FRONTIER}'?"),
        (("pin", "x/y"), "There is no target 'x/y'.", f"Targets are {LIGHT}, {FRONTIER}, {STRONG}."),
        (("thinking", "fixed", "hihg"), "There is no level of thinking 'hihg'.", "Did you mean 'high'?"),
        (("thinking", "fixed"), "A LEVEL goes with `fixed`", "fixed low"),
        (("thinking", "auto", "low"), "A LEVEL goes with `fixed`", "fixed low"),
        (("mode", "best", "--clear"), "exclude each other", "Leave one of them out."),
        (("off", "--default", "--session", CELLAR), "exclude each other", "Leave one of them out."),
    ],
)
def test_what_makes_no_sense_is_refused_and_nothing_is_set(
    run: Run, data_dir: Path, arguments: tuple[str, ...], message: str, hint: str
) -> None:
    status, out, err = run("auto", *arguments)
    assert (status, out) == (2, "")
    assert message in err and hint in err
    assert set_for(data_dir, CELLAR) == set_for(data_dir) == {}


def test_a_target_that_the_settings_forbid_is_not_pinned(run: Run, data_dir: Path, config: Path) -> None:
    config.write_text(config.read_text() + f'\n[routing.constraints]\nmodel_exclude = ["{FRONTIER}"]\n')
    status, _, err = run("auto", "pin", FRONTIER)
    assert status == 2 and f"{FRONTIER} cannot be pinned: " in err
    assert set_for(data_dir, CELLAR) == {}


def test_a_target_that_is_only_chosen_when_it_is_named_may_be_pinned(run: Run, config: Path) -> None:
    config.write_text(config.read_text() + f'\n[routing.constraints]\nauto_exclude = ["{FRONTIER}"]\n')
    assert run("auto", "pin", FRONTIER)[0] == 0
    assert run("auto", "models")[1] == f"{FRONTIER}\n"


# --- the settings file ---


def test_a_policy_for_all_is_written_into_the_settings_and_the_rest_stays(
    run: Run, tell: Tell, config: Path, data_dir: Path
) -> None:
    before = config.read_text()
    status, out, _ = run("auto", "mode", "cost", "--default")
    backup = config.with_name("config.toml.ullage-backup")
    assert status == 0
    assert out.splitlines()[1:] == [f"written  {config}", f"backup   {backup}"]
    assert config.read_text() == before.replace("policy = 'balanced'  #", 'policy = "cost"  #')
    assert backup.read_text() == before
    assert set_for(data_dir, ATTIC) == {"policy": "cost"}
    assert run("auto", "mode", "cost", "--default")[1].splitlines()[1:] == [f"It stands in {config} already."]


def test_a_file_that_cannot_be_read_is_left_alone_and_nothing_is_set(run: Run, config: Path, data_dir: Path) -> None:
    config.write_text("[routing\n")
    status, _, err = run("auto", "mode", "cost", "--default")
    assert status == 1 and "so it was left as it was" in err
    assert config.read_text() == "[routing\n"
    assert set_for(data_dir) == {}
