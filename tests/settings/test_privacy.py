"""Settings of privacy: planner specification, sections 2.2 and 23.2; design, section 10."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ullage.core.privacy import RemoteProvider

if TYPE_CHECKING:
    from tests.settings.conftest import Files


def test_everything_can_be_said_of_privacy(files: Files) -> None:
    loaded = files.load(
        """
[privacy]
enabled = true
default_classification = "internal"
local_providers = ["127.0.0.1:9000"]
remote_default_allowed = ["normal"]
redact_secrets = false
[privacy.remote_providers]
openrouter = ["normal", "sensitive"]
"api.example:8080" = []
[privacy.remote_providers.anthropic]
allowed = ["normal"]
"""
    )
    assert loaded.problems == ()
    privacy = loaded.settings.privacy
    assert (privacy.enabled, privacy.redact_secrets, privacy.default_classification) == (True, False, "internal")
    assert (privacy.local_providers, privacy.remote_default_allowed) == (("127.0.0.1:9000",), ("normal",))
    assert privacy.remote_providers == {
        "openrouter": RemoteProvider(allowed=("normal", "sensitive")),
        "api.example:8080": RemoteProvider(),
        "anthropic": RemoteProvider(allowed=("normal",)),
    }


def test_a_variable_holds_a_list_with_commas(files: Files) -> None:
    loaded = files.load("", ULLAGE_PRIVACY__LOCAL_PROVIDERS="ollama, box.lan:8000")
    assert loaded.settings.privacy.local_providers == ("ollama", "box.lan:8000")


@pytest.mark.parametrize(
    "text",
    [
        "[privacy]\nenabled = 'yes'\n",
        "[privacy]\nenable = true\n",
        "[privacy]\nremote_default_allowed = ['local-only']\n",
        "[privacy]\nlocal_providers = 'ollama'\n",
        "[privacy.remote_providers]\nopenai = ['normal', 'local-only']\n",
        "[privacy.remote_providers.openai]\nallow = ['normal']\n",
    ],
)
def test_what_cannot_be_used_of_privacy_keeps_the_daemon_from_starting(files: Files, text: str) -> None:
    """The default in its place could let more through than was asked for."""
    loaded = files.load(text)
    assert [problem.blocking for problem in loaded.problems] == [True]


def test_local_only_may_never_be_listed_for_a_remote(files: Files) -> None:
    (problem,) = files.load("[privacy.remote_providers]\nopenai = ['local-only']\n").problems
    assert "a list of normal, internal, sensitive" in problem.message


USER = """
[privacy]
enabled = true
default_classification = "internal"
local_providers = ["ollama", "lmstudio"]
remote_default_allowed = ["normal", "internal"]
[privacy.remote_providers]
openai = ["normal"]
"""


@pytest.mark.parametrize(
    "text",
    [
        "privacy.enabled = false",
        "privacy.redact_secrets = false",
        "privacy.default_classification = 'normal'",
        "privacy.local_providers = ['ollama', 'openai']",
        "privacy.remote_default_allowed = ['normal', 'sensitive']",
        "privacy.remote_providers.openai = ['internal']",
        "privacy.remote_providers.anthropic = ['sensitive']",
    ],
)
def test_a_project_never_lowers_privacy(files: Files, text: str) -> None:
    alone, both = files.load(USER), files.load(USER, project=text + "\n")
    assert [problem.code for problem in both.problems] == ["not_allowed"]
    assert both.settings.privacy == alone.settings.privacy
    assert both.blocking == ()


def test_a_project_may_raise_privacy(files: Files) -> None:
    loaded = files.load(
        "",
        project="""
[privacy]
enabled = true
default_classification = "sensitive"
local_providers = ["ollama"]
remote_default_allowed = ["normal"]
[privacy.remote_providers]
openai = []
""",
    )
    assert loaded.problems == ()
    privacy = loaded.settings.privacy
    assert (privacy.enabled, privacy.default_classification, privacy.local_providers) == (
        True,
        "sensitive",
        ("ollama",),
    )
    assert privacy.remote_providers == {"openai": RemoteProvider()}
