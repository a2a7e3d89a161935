from __future__ import annotations

import pytest

from ullage.core.content import Answer, Usage
from ullage.core.health import classify, connection_failure, judge

# Status, word, sentence; kind, retryable, counts.
TABLE = [
    (429, "rate_limit_error", "Number of requests has exceeded your rate limit", "rate-limit", True, True),
    (429, "insufficient_quota", "You exceeded your current quota", "out-of-credit", True, True),
    (429, "usage_limit_reached", "The usage limit has been reached", "usage-limit", True, True),
    (500, "api_error", "Internal server error", "server", True, True),
    (502, "unreadable_answer", "<html>502 Bad Gateway</html>", "server", True, True),
    (503, "UNAVAILABLE", "The model is overloaded. Please try again later.", "server", True, True),
    (529, "overloaded_error", "Overloaded", "server", True, True),
    (401, "authentication_error", "invalid x-api-key", "auth", False, True),
    (403, "permission_error", "no access to this model", "auth", False, True),
    (404, "not_found_error", "model: claude-9", "not-found", False, True),
    (404, "", "", "not-found", False, True),
    (
        404,
        "model_not_found",
        "The model `gpt-9` does not exist or you do not have access to it.",
        "not-found",
        False,
        True,
    ),
    (400, "model_not_found", "", "not-found", False, True),
    (400, "invalid_request_error", "Model Not Exist", "not-found", False, True),
    (400, "400", "openai/gpt-9 is not a valid model ID", "not-found", False, True),
    (404, "not_found_error", "File not found: file_011", "client", False, False),
    (403, "PERMISSION_DENIED", "CachedContent not found (or permission denied)", "client", False, False),
    (400, "", "Unsupported parameter: 'max_tokens' is not supported with this model.", "client", False, False),
    (400, "invalid_request_error", "messages: field required", "client", False, False),
    (402, "402", "Insufficient credits", "out-of-credit", False, False),
    (400, "invalid_request_error", "Your credit balance is too low to access the API", "out-of-credit", False, False),
    (400, "invalid_request_error", "You have reached your specified API usage limits.", "usage-limit", False, False),
    (400, "context_length_exceeded", "This model's maximum context length is 8192", "context-length", False, False),
    (400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000", "context-length", False, False),
    (413, "request_too_large", "Request exceeds the maximum size", "client", False, False),
    (400, "content_filter", "The response was filtered", "content-filter", False, False),
    (400, "invalid_request_error", "Output blocked by content filtering policy", "content-filter", False, False),
    (422, "", "", "client", False, False),
    (408, "", "", "client", False, False),
]


@pytest.mark.parametrize(("status", "word", "sentence", "kind", "retryable", "counts"), TABLE)
def test_statuses_and_bodies_have_a_class(status, word, sentence, kind, retryable, counts) -> None:
    """Routing specification, section 18."""
    failure = classify(status, word, sentence)
    assert (failure.kind, failure.retryable, failure.counts) == (kind, retryable, counts)
    assert (failure.status, failure.code, failure.message) == (status, word, sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "messages.1.content.0: Invalid `signature` in `thinking` block",
        "messages.3.content.0.thinking.signature: Field required",
        "messages.3.content.1: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified.",
        "Function call is missing a thought_signature in functionCall parts.",
        "Corrupted thought signature.",
        "The encrypted content gAAA... could not be verified.",
        "thinking block is bound to a different conversation",
    ],
)
def test_thinking_that_another_model_signed_may_go_elsewhere_and_is_nobodys_fault(sentence: str) -> None:
    """Complaint C10."""
    failure = classify(400, "invalid_request_error", sentence)
    assert (failure.kind, failure.retryable, failure.counts) == ("signature", True, False)
    assert classify(422, "", sentence).kind != "signature"


@pytest.mark.parametrize(
    ("word", "status", "kind"),
    [
        ("overloaded_error", 503, "server"),
        ("api_error", 503, "server"),
        ("server_error", 503, "server"),
        ("UNAVAILABLE", 503, "server"),
        ("error", 503, "server"),
        ("", 503, "server"),
        ("rate_limit_error", 429, "rate-limit"),
        ("RESOURCE_EXHAUSTED", 429, "rate-limit"),
        ("429", 429, "rate-limit"),
        ("502", 502, "server"),
        ("authentication_error", 401, "auth"),
        ("invalid_request_error", 400, "client"),
        ("context_length_exceeded", 400, "context-length"),
        ("99999999999", 503, "server"),
    ],
)
def test_an_error_inside_a_stream_amounts_to_a_status(word: str, status: int, kind: str) -> None:
    failure = classify(200, word, "It failed.")
    assert (failure.status, failure.kind) == (status, kind)


def test_connections_are_retried_and_counted() -> None:
    refused, late = connection_failure("upstream_refused", "it refused"), connection_failure("upstream_timeout")
    assert (refused.kind, refused.status, refused.retryable, refused.counts) == ("connection", 503, True, True)
    assert (late.kind, late.status, late.retryable, late.counts) == ("timeout", 504, True, True)


WHOLE = Answer(complete=True, stop_reason="end", stop_reason_raw="end_turn", text_chars=2)


def test_a_whole_answer_is_no_failure() -> None:
    assert judge(200, WHOLE, spoke=True) is None
    assert judge(200, Answer(complete=True, stop_reason="end", stop_reason_raw="end_turn"), spoke=False) is None
    assert judge(200, Answer(complete=True, usage=Usage(output=0)), spoke=False) is None


def test_an_end_without_completion_counts_as_503() -> None:
    for failure in (judge(200, Answer(text_chars=2), spoke=True), judge(200, WHOLE, spoke=True, cut=True)):
        assert failure is not None
        assert (failure.kind, failure.status, failure.retryable, failure.counts) == ("server", 503, True, True)


def test_a_stream_of_pings_with_an_end_is_an_empty_answer() -> None:
    failure = judge(200, Answer(complete=True), spoke=False)
    assert failure is not None
    assert (failure.code, failure.status) == ("empty_answer", 503)


def test_a_call_that_its_provider_could_not_read_is_a_failure_only_if_nothing_was_said() -> None:
    answer = Answer(
        complete=True, stop_reason="error", stop_reason_raw="MALFORMED_FUNCTION_CALL", usage=Usage(output=9)
    )
    failure = judge(200, answer, spoke=False)
    assert failure is not None
    assert failure.code == "MALFORMED_FUNCTION_CALL"
    assert judge(200, answer, spoke=True) is None


def test_what_the_body_says_of_an_error_status_is_kept() -> None:
    failure = judge(429, Answer(complete=True, error_type="usage_limit_reached", error_message="soon"), spoke=False)
    assert failure is not None
    assert (failure.kind, failure.message) == ("usage-limit", "soon")
