"""The page on failover: its settings are settings, its figures those of the code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ullage.core.health import RULES, classify, connection_failure
from ullage.core.health.circuit import MOST_JITTER
from ullage.gateway.attempts import HOLD_MS
from ullage.settings import load_file
from ullage.settings.routing import FailoverSettings

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "how-to" / "failover.md").read_text()
PLAIN = " ".join(PAGE.split())


@pytest.mark.parametrize("block", re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL))
def test_every_example_is_a_settings_file_without_problems(block: str, tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text(block)
    assert load_file(file).problems == ()


def test_the_figures_are_those_of_the_code() -> None:
    plain = FailoverSettings()
    assert plain.max_attempts == 3 and "Three targets are asked at most" in PLAIN
    assert plain.first_output_timeout_ms is None and plain.request_timeout_ms is None
    assert (RULES.strikes, RULES.within_ms) == (2, 120_000) and "the second one within two minutes" in PLAIN
    assert (RULES.cooldown_ms, RULES.longest_ms) == (60_000, 600_000) and "doubles, up to ten minutes" in PLAIN
    assert HOLD_MS == 120_000 and "still thinking after two minutes is passed on" in PLAIN
    assert MOST_JITTER == 0.1 and "Times differ by a tenth" in PLAIN


@pytest.mark.parametrize("status", [400, 401, 403, 404])
def test_what_ends_a_request_at_once_is_named(status: int) -> None:
    assert not classify(status).retryable
    assert re.search(rf"answers [\d, ]*{status}\b.*\| the client gets that answer", PAGE)


def test_what_another_target_may_mend_is_named() -> None:
    failures = [classify(429), classify(503), connection_failure("upstream_refused")]
    assert all(failure.retryable and failure.counts for failure in failures)
