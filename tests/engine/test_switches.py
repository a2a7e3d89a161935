"""Switches of model and provider (planner specification, section 11)."""

from __future__ import annotations

from ullage.engine.switches import TARGETS, Switches


def test_the_first_request_of_a_session_is_no_switch_and_its_cache_unknown() -> None:
    switch = Switches().note("s", "openai/gpt-5")
    assert (switch.switched, switch.previous, switch.cache_disposition) == (False, None, "unknown")


def test_the_same_target_again_may_be_warm() -> None:
    switches = Switches()
    switches.note("s", "openai/gpt-5")
    switch = switches.note("s", "openai/gpt-5")
    assert (switch.switched, switch.previous, switch.cache_disposition) == (False, "openai/gpt-5", "eligible")


def test_another_model_is_a_cold_boundary_and_a_return_reuses_the_profile() -> None:
    switches = Switches()
    switches.note("s", "openai/gpt-5")
    away = switches.note("s", "anthropic/claude")
    back = switches.note("s", "openai/gpt-5")
    assert (away.switched, away.profile_reused, away.cache_disposition) == (True, False, "cold-model-switch")
    assert (back.switched, back.profile_reused, back.previous) == (True, True, "anthropic/claude")


def test_a_target_that_failed_is_not_where_its_session_was() -> None:
    switches = Switches()
    switches.note("s", "openai/gpt-5")
    switches.note("s", "openai/gpt-5")
    switches.note("s", "anthropic/claude")
    switches.take_back("s", "anthropic/claude")
    switch = switches.note("s", "google/gemini")
    assert (switch.previous, switches.targets("s")) == ("openai/gpt-5", ("openai/gpt-5", "google/gemini"))
    switches.take_back("s", "openai/gpt-5")  # it is not the newest
    switches.take_back("other", "openai/gpt-5")
    assert switches.targets("s") == ("openai/gpt-5", "google/gemini")


def test_a_session_of_an_earlier_run_is_restored_once() -> None:
    switches = Switches()
    switches.recall("s", ("openai/gpt-5", "anthropic/claude"))
    first, second = switches.note("s", "openai/gpt-5"), switches.note("s", "openai/gpt-5")
    assert (first.source, first.switched, first.profile_reused) == ("restore", True, True)
    assert (second.source, second.switched) == ("context", False)


def test_what_is_remembered_is_bounded() -> None:
    switches = Switches()
    for number in range(3_000):
        switches.note(f"s{number}", "a/b")
    for number in range(TARGETS + 5):
        switches.note("s", f"a/{number}")
    assert not switches.knows("s0")
    assert len(switches.targets("s")) == TARGETS
