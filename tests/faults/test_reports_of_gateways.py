"""What users report of gateways (faults specification, section 1): where the test of each report is, and that it names it."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.routing.naming import find_test

REPORTS: dict[str, tuple[str, ...]] = {
    "gateway/test_under_load.py::test_no_request_waits_for_the_answers_of_the_others__litellm_13546": (
        "BerriAI/litellm#13546",
    ),
    "gateway/test_under_load.py::test_no_answer_waits_for_the_database__litellm_9491": ("BerriAI/litellm#9491",),
    "core/translation/test_faults.py::test_arguments_in_very_many_fragments_are_looked_at_once__litellm_26181": (
        "BerriAI/litellm#26181",
    ),
    "gateway/test_relay.py::test_accounting_of_a_large_body_holds_up_no_other_request__headroom_718": (
        "headroomlabs-ai/headroom#718",
    ),
    "gateway/test_under_load.py::test_a_body_is_never_walked_on_the_event_loop__anthropic_sdk_1195": (
        "anthropics/anthropic-sdk-python#1195",
    ),
    "gateway/test_under_load.py::test_nothing_of_a_request_stays_when_it_is_over__litellm_12685_27954_13805": (
        "BerriAI/litellm#12685",
        "BerriAI/litellm#27954",
        "BerriAI/litellm#13805",
    ),
    "gateway/test_relay.py::test_a_slow_client_holds_back_the_provider_not_the_memory__litellm_18367": (
        "BerriAI/litellm#18367",
    ),
    "gateway/test_attempts_elsewhere.py::test_words_pass_as_they_come__litellm_26102__dstack_4269": (
        "BerriAI/litellm#26102",
        "dstackai/dstack#4269",
    ),
    "core/translation/test_faults.py::test_a_comment_between_events_is_nothing__portkey_1035": (
        "Portkey-AI/gateway#1035",
    ),
    "core/translation/test_faults.py::test_a_chunk_of_usage_without_choices_is_read__portkey_1072": (
        "Portkey-AI/gateway#1072",
    ),
    "core/wire/answers/test_openai_chat.py::test_a_usage_chunk_without_choices_is_read": ("Portkey-AI/gateway#1627",),
    "core/translation/test_faults.py::test_an_error_inside_a_stream_is_an_error_event_of_anthropic__mlflow_25897": (
        "mlflow/mlflow#25897",
    ),
    "gateway/test_attempts_elsewhere.py::test_a_stream_that_fails_at_its_start_goes_on_elsewhere__litellm_6957": (
        "BerriAI/litellm#6957",
    ),
    "gateway/test_attempts_elsewhere.py::test_the_next_target_is_asked_the_same_and_nothing_else__litellm_27967": (
        "BerriAI/litellm#27967",
        "BerriAI/litellm#36267",
    ),
    "core/translation/test_faults.py::test_a_stream_without_its_end_is_not_given_one__bifrost_597": (
        "maximhq/bifrost#597",
    ),
    "core/translation/test_faults.py::test_an_event_may_be_split_over_segments__claude_code_router_198": (
        "musistudio/claude-code-router#198",
    ),
    "core/translation/test_faults.py::test_a_call_reaches_gemini_with_whole_arguments_only__claude_code_router_129": (
        "musistudio/claude-code-router#129",
    ),
    "core/translation/test_faults.py::test_arguments_that_no_delta_told_are_not_empty__litellm_27144": (
        "BerriAI/litellm#27144",
    ),
    "core/wire/answers/test_openai_responses.py::test_a_call_is_found_wherever_a_host_puts_its_arguments": (
        "Gitlawb/openclaude#1259",
    ),
    "core/translation/test_faults.py::test_a_call_that_no_event_began_is_told_with_its_beginning__litellm_22102": (
        "BerriAI/litellm#22102",
    ),
    "core/translation/test_faults.py::test_a_call_is_added_streamed_and_done_for_codex__codex_12798": (
        "openai/codex#12798",
    ),
    "core/translation/test_faults.py::test_the_last_event_of_responses_has_id_model_and_output__llm_rosetta_56": (
        "Oaklight/llm-rosetta#56",
    ),
    "core/translation/test_faults.py::test_a_signature_without_thinking_is_kept_in_its_own_family__litellm_41361": (
        "BerriAI/litellm#41361",
    ),
    "core/translation/test_faults.py::test_cache_marks_on_calls_and_results_are_kept_for_anthropic__bifrost_1935": (
        "maximhq/bifrost#1935",
    ),
    "core/translation/test_faults.py::test_tools_keep_their_order_and_their_bytes__bifrost_2347": (
        "maximhq/bifrost#2347",
        "maximhq/bifrost#6547",
    ),
    "gateway/test_attempts_elsewhere.py::test_pings_and_an_end_are_no_answer__headroom_3266": (
        "headroomlabs-ai/headroom#3266",
    ),
    "core/translation/test_faults.py::test_a_choice_of_tools_is_among_the_tools__bifrost_3596": (
        "maximhq/bifrost#3596",
    ),
    "core/translation/test_faults.py::test_cache_reads_are_counted_once__litellm_14849": ("BerriAI/litellm#14849",),
    (
        "engine/test_spending.py::"
        "test_without_a_report_the_usage_is_counted_at_list_prices_and_cache_hits_once__litellm_14849_aider_5516"
    ): ("Aider-AI/aider#5516",),
    "core/translation/test_faults.py::test_tokens_written_to_the_cache_are_told__litellm_33772": (
        "BerriAI/litellm#33772",
    ),
    "core/translation/test_faults.py::test_usage_is_found_wherever_anthropic_tells_it__envoy_2290": (
        "envoyproxy/ai-gateway#2290",
        "majiayu000/litellm-rs#510",
    ),
    "core/translation/test_faults.py::test_prompt_and_total_count_the_cached_tokens_alike__portkey_1210": (
        "Portkey-AI/gateway#1210",
        "Portkey-AI/gateway#1754",
    ),
    "gateway/test_relay.py::test_a_client_that_leaves_cancels_the_call_upstream__litellm_37140": (
        "BerriAI/litellm#37140",
        "BerriAI/litellm#17364",
    ),
    "gateway/test_budgets.py::test_parallel_calls_never_pass_a_cap_of_five_dollars__litellm_34732_40095_26672": (
        "BerriAI/litellm#34732",
        "BerriAI/litellm#40095",
        "BerriAI/litellm#26672",
    ),
}
NUMBER = re.compile(r"#(\d+)")


@pytest.mark.parametrize("place", REPORTS)
def test_each_report_is_named_by_its_test(place: str) -> None:
    test = find_test(place)
    named = {*re.findall(r"_(\d+)(?=_|$)", test.name), *NUMBER.findall(ast.get_docstring(test) or "")}
    assert {report.partition("#")[2] for report in REPORTS[place]} <= named


@pytest.mark.shared
def test_there_is_a_test_of_every_report(shared_data: Path) -> None:
    written = (shared_data.parent / "spec" / "faults.md").read_text(encoding="utf-8")
    section = written.partition("## 1. ")[2].partition("## 2. ")[0]
    reports = [line.split("|")[1] for line in section.splitlines() if "#" in line]
    known = {report.partition("#")[2] for named in REPORTS.values() for report in named}
    assert set(NUMBER.findall(" ".join(reports))) == known
