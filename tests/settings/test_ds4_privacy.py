"""DS4's files on privacy are taken over whole or not at all, and loosen nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.core.privacy.classes import CLASSES
from ullage.settings.ds4 import Ds4File, read_ds4
from ullage.settings.ds4_privacy import refuse_privacy
from ullage.settings.json_file import JsonFile

KNOWN = frozenset({"openai", "anthropic"})


def read(*policies: dict[str, Any]) -> list[Ds4File]:
    files: list[Ds4File] = []
    for number, said in enumerate(policies):
        files.append(read_ds4(JsonFile(path=Path(f"/{number}.json"), data={"privacy": said}), files))
    return files


def refused(*policies: dict[str, Any]) -> str | None:
    return refuse_privacy(read(*policies), KNOWN)


@pytest.mark.parametrize(
    "said",
    [
        {},
        {"enabled": True, "redactSecrets": False, "remoteDefaultAllowed": ["normal", "internal", "sensitive"]},
        {"enabled": False},
        {"remoteProviders": {"openai": ["normal"], "Anthropic ": []}},
        {"localProviders": ["a server of mine"]},
    ],
)
def test_one_whole_policy_is_taken_as_it_is(said: dict[str, Any]) -> None:
    assert refused(said) is None


def test_of_a_policy_that_is_not_whole_nothing_is_taken_whichever_file_it_is_in() -> None:
    told = "not all that /1.json says of it can be used"
    assert refused({"enabled": True}, {"redactSecrets": "no"}) == told
    assert refused({}, {"enable": True}, {"enabled": True}) == told


def test_a_provider_by_another_name_would_be_kept_from_nothing() -> None:
    assert refused({"remoteProviders": {"openai": [], "my-proxy": ["normal"]}}) == "no provider is called my-proxy here"


@pytest.mark.parametrize(
    ("first", "second", "looser"),
    [
        ({"enabled": True}, {"enabled": False}, "privacy.enabled"),
        ({"enabled": True}, {"redactSecrets": False}, "privacy.redact_secrets"),
        ({"defaultClassification": "sensitive"}, {"defaultClassification": "normal"}, "privacy.default_classification"),
        ({"enabled": True}, {"localProviders": ["box"]}, "privacy.local_providers"),
        ({"enabled": True}, {"remoteDefaultAllowed": ["sensitive"]}, "privacy.remote_default_allowed"),
        (
            {"remoteProviders": {"openai": ["normal"]}},
            {"remoteProviders": {"openai": ["normal", "internal"]}},
            "privacy.remote_providers.openai",
        ),
        (
            {"remoteDefaultAllowed": ["normal"]},
            {"remoteProviders": {"openai": ["internal"]}},
            "privacy.remote_providers.openai",
        ),
    ],
)
def test_a_project_that_lets_more_through_would_do_so_for_all_of_them(
    first: dict[str, Any], second: dict[str, Any], looser: str
) -> None:
    assert refused(first, second) == f"/1.json lets more through than the file before it ({looser})"
    assert refused(first, first) is None


CLASS_LISTS = st.lists(st.sampled_from(CLASSES[:3]), unique=True)
POLICIES = st.fixed_dictionaries(
    {},
    optional={
        "enabled": st.booleans(),
        "defaultClassification": st.sampled_from(CLASSES),
        "localProviders": st.lists(st.sampled_from(["ollama", "box"]), unique=True),
        "remoteDefaultAllowed": CLASS_LISTS,
        "remoteProviders": st.dictionaries(st.sampled_from(sorted(KNOWN)), CLASS_LISTS),
        "redactSecrets": st.booleans(),
    },
)


@given(POLICIES, POLICIES)
def test_a_file_that_says_the_same_again_never_loosens(first: dict[str, Any], second: dict[str, Any]) -> None:
    assert refused(first, first) is None
    if refused(first, second) is None:
        assert refused(first, second, second) is None
