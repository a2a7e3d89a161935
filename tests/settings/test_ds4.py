"""Files of the DS4 context engine: planner specification, sections 2.1, 2.2 and 3.1, and W13 of section 34."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.core.privacy import RemoteProvider
from ullage.core.profiles.overrides import ModelOverride
from ullage.settings import catalog, record_settings
from ullage.settings.ds4 import Ds4File, agent_folder, find_ds4_files, is_ds4, read_ds4
from ullage.settings.ds4_keys import KEYS, OVERRIDE_FIELDS
from ullage.settings.ds4_keys import ORDERS as DS4_ORDERS
from ullage.settings.json_file import JsonFile, read_json

DATA = Path(__file__).resolve().parents[1] / "data" / "ds4"
FILE = Path("/f.json")
REJECTED = "DS4 uses nothing of a file with such a fault in it; here the rest of it is taken over"
RATIOS = "context.targetFillRatio <= context.softLimitRatio <= context.hardLimitRatio"


def read(data: dict[str, Any], *earlier: Ds4File) -> Ds4File:
    return read_ds4(JsonFile(path=FILE, data=data), earlier)


def notes(data: dict[str, Any], *earlier: Ds4File) -> list[str]:
    return [note.removeprefix("/f.json: ") for note in read(data, *earlier).notes]


def test_files_are_looked_for_where_the_extension_does() -> None:
    assert find_ds4_files({}, home=Path("/h"), cwd=Path("/w")) == [
        Path("/h/.pi/agent/ds4-context.json"),
        Path("/w/.pi/ds4-context.json"),
    ]


@pytest.mark.parametrize(("named", "folder"), [("", "/h/.pi/agent"), ("/p", "/p"), ("~/p", "/h/p")])
def test_pi_s_folder_may_be_elsewhere(named: str, folder: str) -> None:
    assert agent_folder({"PI_CODING_AGENT_DIR": named}, Path("/h")) == Path(folder)


@pytest.mark.parametrize("section", ["context", "modelAwareness", "storage", "retrieval"])
def test_a_file_is_known_by_its_sections(section: str) -> None:
    assert is_ds4(JsonFile(path=FILE, data={section: {}}))


def test_a_file_without_any_is_known_by_its_name() -> None:
    assert is_ds4(JsonFile(path=Path("/x/ds4-context.json"), data={"enabled": False}))
    assert not is_ds4(JsonFile(path=FILE, data={"profiles": {}}))


def test_a_whole_file_is_taken_over() -> None:
    file = read_ds4(read_json(DATA / "global.json"))
    assert file.values == {
        "mode": "managed",
        "models.enabled": True,
        "calibration.window": 48,
        "calibration.minimum_samples": 4,
        "calibration.lower_bound": 0.6,
        "calibration.upper_bound": 1.8,
        "calibration.auto_tune": True,
        "planning.target_fill_ratio": 0.65,
        "planning.soft_limit_ratio": 0.75,
        "planning.hard_limit_ratio": 0.85,
        "planning.minimum_output_reserve": 4_096,
        "planning.preferred_output_reserve": 16_384,
        "planning.recent_tail_tokens": 80_000,
        "planning.rescue_predecessor": True,
        "planning.placement": "stable-prefix",
        "planning.tail": "epoch-v1",
        "planning.max_pinned_tokens": 16_000,
        "planning.max_retrieved_history_tokens": 40_000,
        "planning.max_project_tokens": 40_000,
        "artifacts.excerpt_chars": 4_000,
        "privacy.enabled": True,
        "store.scope": "user",
    }
    assert file.overrides == {
        "*": ModelOverride(safety_margin_tokens=2_048),
        "ollama/*": ModelOverride(recent_tail_tokens=16_000),
        "openai/gpt-4o": ModelOverride(token_estimator="o200k-base-v1"),
        "openrouter/vendor/model": ModelOverride(context_window=200_000, max_retrieved_history_tokens=12_000),
    }
    assert file.remote_providers == {"openrouter": RemoteProvider(allowed=("normal",))}
    assert file.privacy_is_whole


def test_everything_of_it_without_a_place_is_named_with_its_fate() -> None:
    first, second = (
        note.removeprefix(f"{DATA / 'global.json'}: ") for note in read_ds4(read_json(DATA / "global.json")).notes
    )
    assert first == (
        "no counterpart here: enabled, context.cacheAware.stickinessEpochs, nativeContinuation.enabled, "
        "localKvReuse.enabled, sessionRebase.enabled, diagnostics.logLevel, storage.busyTimeoutMs"
    )
    assert second.startswith("not yet here: retrieval.maxResults, ")
    assert "project.maxFiles, memory.crossSession, compaction.model, compaction.transport.maxAttempts" in second


@pytest.mark.parametrize(("theirs", "ours"), [("managed", "managed"), ("observer", "observe")])
def test_what_is_done_with_requests_goes_on(theirs: str, ours: str) -> None:
    assert read({"context": {"mode": theirs}}).values == {"mode": ours}
    assert notes({"context": {"mode": theirs}}) == []


@pytest.mark.parametrize(("theirs", "ours"), [("off", "off"), ("auto", "epoch-v1")])
def test_a_tail_that_was_asked_for_is_the_same_one_here(theirs: str, ours: str) -> None:
    assert read({"context": {"cacheAware": {"mode": theirs}}}).values == {"planning.tail": ours}


def test_of_mode_and_tail_what_a_file_does_not_say_stays_what_it_is_here() -> None:
    """DS4 plans and walks the tail anew unless told otherwise; here both have a default of their own."""
    assert read({"context": {"recentTailTokens": 4_000}}).values == {"planning.recent_tail_tokens": 4_000}


def test_the_figures_of_the_tail_s_rule_have_no_counterpart() -> None:
    figures = {"cacheAware": {"minimumCacheReadShare": 0.4, "stickinessEpochs": 3}}
    assert notes({"context": figures}) == [
        "no counterpart here: context.cacheAware.minimumCacheReadShare, context.cacheAware.stickinessEpochs"
    ]


# The three worked examples of section 2.2.
def test_a_soft_limit_above_the_hard_one_is_left_out_and_what_the_extension_would_do_is_told() -> None:
    file = read({"context": {"softLimitRatio": 0.95, "maxProjectTokens": 5}})
    assert file.values == {"planning.max_project_tokens": 5}
    assert notes({"context": {"softLimitRatio": 0.95}}) == [
        f"context.softLimitRatio is 0.95, which breaks {RATIOS}",
        REJECTED,
    ]


def test_an_unknown_key_is_named_and_the_rest_is_taken() -> None:
    assert notes({"context": {"nope": 1, "recentTailTokens": 4_000}, "x": {"y": 1}}) == [
        "context.nope is no key of DS4",
        "x is no key of DS4",
    ]
    assert read({"context": {"nope": 1, "recentTailTokens": 4_000}}).values == {"planning.recent_tail_tokens": 4_000}


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("4000", "must be a whole number, not '4000'"),
        (True, "must be a whole number, not true"),
        (None, "must be a whole number, not None"),
        ([1], "must be a whole number, not [1]"),
        (float("inf"), "must be a whole number, not inf"),
    ],
)
def test_a_value_of_the_wrong_type_is_named_and_the_file_is_good(value: Any, said: str) -> None:
    assert notes({"context": {"recentTailTokens": value}}) == [f"context.recentTailTokens {said}"]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"context": {"targetFillRatio": 0}}, "context.targetFillRatio must be a number above 0 and at most 1, not 0"),
        ({"context": {"maxPinnedTokens": 1.5}}, "context.maxPinnedTokens must be a whole number from 0, not 1.5"),
        (
            {"modelAwareness": {"calibrationWindow": 2}},
            "modelAwareness.calibrationWindow must be a whole number from 3 to 200, not 2",
        ),
        (
            {"modelAwareness": {"calibrationRatioUpperBound": 4.1}},
            "modelAwareness.calibrationRatioUpperBound must be a number from 0.25 to 4, not 4.1",
        ),
        ({"context": {"mode": "off"}}, "context.mode must be 'managed' or 'observer', not 'off'"),
        (
            {"retrieval": {"embedding": {"dimensions": 8}}},
            "retrieval.embedding.dimensions must be a whole number from 16",
        ),
        (
            {"compaction": {"preserveRecentVerbatim": False}},
            "compaction.preserveRecentVerbatim must be true, not false",
        ),
        ({"project": {"snippetOverlapLines": 80}}, "project.snippetOverlapLines is 80, which breaks"),
        ({"nativeContinuation": {"enabled": True}}, "nativeContinuation.enabled is true, which breaks"),
        ({"storage": {"writeRetryTimeoutMs": 100}}, "storage.writeRetryTimeoutMs is 100, which breaks"),
    ],
)
def test_what_makes_the_extension_leave_out_the_file_is_named(data: dict[str, Any], said: str) -> None:
    first, second = notes(data)
    assert first.startswith(said)
    assert second == REJECTED


def test_a_section_that_is_no_object_is_named() -> None:
    assert notes({"context": 5, "retrieval": {"embedding": []}, "modelAwareness": {"overrides": []}}) == [
        "context must be an object, not 5",
        "retrieval.embedding must be an object, not []",
        "modelAwareness.overrides must be an object, not []",
    ]


def test_a_later_file_is_heard_with_what_the_earlier_one_said() -> None:
    first = read({"context": {"hardLimitRatio": 0.95}})
    assert read({"context": {"softLimitRatio": 0.95}}, first).values == {"planning.soft_limit_ratio": 0.95}
    narrow = read({"context": {"targetFillRatio": 0.3, "softLimitRatio": 0.4, "hardLimitRatio": 0.5}})
    assert notes({"context": {"targetFillRatio": 0.6}}, narrow)[0] == (
        f"context.targetFillRatio is 0.6, which breaks {RATIOS}"
    )


@pytest.mark.parametrize("key", ["openai", "/x", "x/", " a/b", "*/x", ""])
def test_an_override_whose_key_names_no_model_is_left_out(key: str) -> None:
    table = {key: {"contextWindow": 1}, "a/b": {"contextWindow": 2}}
    file = read({"modelAwareness": {"overrides": table}})
    assert file.overrides == {"a/b": ModelOverride(context_window=2)}
    assert [note.removeprefix("/f.json: ").partition(" ")[0] for note in file.notes] == ["the", "DS4"]


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({"contextWindow": 0}, ".contextWindow must be a whole number from 1 to 10000000, not 0"),
        ({"recentTailTokens": -1}, ".recentTailTokens must be a whole number from 0 to 10000000, not -1"),
        ({"maxProjectTokens": "5"}, ".maxProjectTokens must be a whole number from 0 to 10000000, not '5'"),
        ({"maxOutputTokens": 2.5}, ".maxOutputTokens must be a whole number from 1 to 10000000, not 2.5"),
        ({"mysteryBudget": 10}, ".mysteryBudget is no field of an override"),
        ({"tokenEstimator": "bpe"}, ".tokenEstimator must be one of chars-v1, o200k-base-v1, not 'bpe'"),
        ({"contextWindow": 8, "maxOutputTokens": 9}, ": no answer of 9 tokens fits a window of 8"),
        (5, " must be an object, not 5"),
    ],
)
def test_what_is_wrong_in_an_override_is_left_out_alone(entry: Any, said: str) -> None:
    data = {"modelAwareness": {"overrides": {"a/b": entry}}}
    assert read(data).overrides == {}
    assert notes(data) == [f"modelAwareness.overrides.a/b{said}", REJECTED]
    if isinstance(entry, dict):
        better = {"modelAwareness": {"overrides": {"a/b": entry | {"safetyMarginTokens": 5}}}}
        assert read(better).overrides == {"a/b": ModelOverride(safety_margin_tokens=5)}


def test_a_number_beyond_what_is_let_in_here_is_left_out(tmp_path: Path) -> None:
    assert notes({"context": {"recentTailTokens": 10_000_001}}) == [
        "context.recentTailTokens: planning.recent_tail_tokens must be a whole number from 0 to 10000000, not 10000001."
    ]


def test_a_number_written_with_a_fraction_of_zero_is_whole(tmp_path: Path) -> None:
    file = tmp_path / "ds4-context.json"
    file.write_text('{"context": {"recentTailTokens": 64000.0}, "modelAwareness": {"calibrationWindow": 1e1}}')
    assert read_ds4(read_json(file)).values == {"planning.recent_tail_tokens": 64_000, "calibration.window": 10}


def test_all_of_a_policy_of_privacy_is_read() -> None:
    file = read(
        {
            "privacy": {
                "enabled": True,
                "defaultClassification": "internal",
                "localProviders": ["box.lan:8000"],
                "remoteDefaultAllowed": ["normal"],
                "remoteProviders": {"openai": ["normal", "sensitive"], "openrouter": []},
                "redactSecrets": False,
            }
        }
    )
    assert (file.privacy_is_whole, file.notes) == (True, ())
    assert file.values == {
        "privacy.enabled": True,
        "privacy.default_classification": "internal",
        "privacy.local_providers": ("box.lan:8000",),
        "privacy.remote_default_allowed": ("normal",),
        "privacy.redact_secrets": False,
    }
    assert file.remote_providers == {
        "openai": RemoteProvider(allowed=("normal", "sensitive")),
        "openrouter": RemoteProvider(),
    }


PROVIDER = "must be a provider with a list of normal, internal, sensitive, not"


@pytest.mark.parametrize(
    ("said", "note"),
    [
        ({"enabled": "yes"}, "privacy.enabled must be true or false, not 'yes'"),
        ({"enable": True}, "privacy.enable is no key of DS4"),
        (
            {"defaultClassification": "secret"},
            (
                "privacy.defaultClassification: privacy.default_classification must be one of normal, internal, sensitive, "
                "local-only, not 'secret'."
            ),
        ),
        (
            {"remoteDefaultAllowed": ["normal", "local-only"]},
            (
                "privacy.remoteDefaultAllowed: privacy.remote_default_allowed must be a list of normal, internal, sensitive, "
                "not ['normal', 'local-only']."
            ),
        ),
        ({"remoteProviders": []}, "privacy.remoteProviders must be an object, not []"),
        ({"remoteProviders": {"a": ["local-only"]}}, f"privacy.remoteProviders.a {PROVIDER} ['local-only']"),
        ({"remoteProviders": {"a": "normal"}}, f"privacy.remoteProviders.a {PROVIDER} 'normal'"),
        ({"remoteProviders": {" ": ["normal"]}}, f"privacy.remoteProviders.  {PROVIDER} ['normal']"),
        (True, "privacy must be an object, not true"),
    ],
)
def test_what_cannot_be_used_of_privacy_is_named_and_the_rest_is_not_whole(said: Any, note: str) -> None:
    file = read({"privacy": said, "context": {"recentTailTokens": 5}})
    assert (file.notes, file.privacy_is_whole) == ((f"/f.json: {note}",), False)


def test_what_is_wrong_elsewhere_leaves_privacy_whole() -> None:
    assert read({"privacy": {"enabled": True}, "context": {"nope": 1, "targetFillRatio": 7}}).privacy_is_whole


def test_every_place_is_a_setting_with_the_same_default() -> None:
    """But two, which the manual names."""
    for name, key in KEYS.items():
        if key.ours and name not in ("context.mode", "context.cacheAware.mode"):
            default = key.values.get(key.default, key.default)
            assert catalog()[key.ours].default == default, name


def test_every_default_is_in_its_range_and_order() -> None:
    for name, key in KEYS.items():
        default = list(key.default) if isinstance(key.default, tuple) else key.default
        assert default is None or (key.is_of_kind(default) and key.lets_in(default)), name
    assert all(order.holds([KEYS[name].default for name in order.keys]) for order in DS4_ORDERS)


def test_every_field_of_an_override_is_one_of_ours() -> None:
    assert set(OVERRIDE_FIELDS.values()) < {field.key for field in record_settings(ModelOverride)}


JSON = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(), st.sampled_from(["", "a/b", "*", "agent", "observer"])
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=2),
        st.dictionaries(
            st.sampled_from([word for name in KEYS for word in name.split(".")] + ["a/b", "*", *OVERRIDE_FIELDS]),
            inner,
            max_size=6,
        ),
    ),
    max_leaves=20,
)


@given(JSON)
def test_whatever_is_written_there_is_used_or_named(data: Any) -> None:
    if not isinstance(data, dict):
        return
    file = read(data)
    for key, value in file.values.items():
        msgspec.convert(value, catalog()[key].type)
    assert all(note.startswith("/f.json: ") for note in file.notes)


def test_every_place_stands_in_the_manual() -> None:
    page = (DATA.parents[2] / "docs" / "how-to" / "from-ds4.md").read_text()
    rows = [line.split("|") for line in page.splitlines() if line.startswith("| `")]
    for name, key in KEYS.items():
        if key.ours:
            section, _, word = name.partition(".")
            setting, dot, field = key.ours.partition(".")
            assert any(
                f"{section}." in row[1] and word in row[1] and f"{setting}{dot}" in row[2] and field in row[2]
                for row in rows
            )
