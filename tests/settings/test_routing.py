"""Settings of routing in files: routing specification, sections 6, 13, 14 and 31; design, sections 10 and 11."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import convert

from ullage.cli.config.toml_text import toml_key, toml_value
from ullage.core.routing.filtering import Limits, find_eligible, make_candidate
from ullage.core.routing.identity import matches
from ullage.core.routing.models import ModelRecord
from ullage.core.routing.pools import Pool
from ullage.core.routing.rules import KIND_NAMES, SCENARIOS
from ullage.settings.layers import Entry, Layer
from ullage.settings.load import resolve
from ullage.settings.paths import find_paths
from ullage.settings.provenance import Source, SourceKind
from ullage.settings.providers import find_providers
from ullage.settings.route_config import make_route_config
from ullage.settings.routing import (
    ActionSettings,
    AliasSettings,
    Kind,
    PoolSettings,
    QuotaProviderSettings,
    RuleSettings,
    TargetSettings,
    WhenSettings,
)
from ullage.settings.routing_checks import NOBODY, SCENARIO_NAMES, tighten
from ullage.settings.toml_file import TomlError, parse_toml

if TYPE_CHECKING:
    from tests.settings.conftest import Files

ALL = """
[routing]
policy = "cost"
models = ["anthropic/*", "openai/gpt-5"]
thinking = "low"
pool = "work"

[routing.constraints]
provider_allow = ["anthropic", "openai"]
model_exclude = ["*experimental*"]

[routing.classifier]
enabled = true
timeout_ms = 2000

[routing.quota.providers.openai]
max_usd = 10
max_requests = 100

[routing.aliases.cheap]
policy = "cost"
pool = "work"
models = ["openai/*"]
minimum_tier = "mid"
thinking = "off"

[routing.targets."gateway/deepseek/deepseek-v4"]
identity = "deepseek:deepseek-v4"
aa = 52.5
cost_coefficient = 0.5

[routing.pools.work]
targets = { "openai/gpt-5" = 2, "anthropic/claude-opus-4.5" = 1.5 }
fallback = "any"

[[routing.rules]]
name = "hotfix"
[routing.rules.when]
kinds = ["debug"]
prompt_matches = 'hotfix|prod(uction)? down'
[routing.rules.then]
only = "anthropic/*"
minimum_tier = "strong"

[[routing.rules]]
name = "always"
then = { policy = "fast" }

[routing.scenarios]
vision = { prefer = ["openai/*"] }
long_context = "cost"
review = ["anthropic/*", "claude-opus-5"]
plan.policy = "best"
"""


def test_everything_can_be_said_of_routing(files: Files) -> None:
    loaded = files.load(ALL)
    assert loaded.problems == ()
    routing = loaded.settings.routing
    assert (routing.policy, routing.thinking, routing.pool) == ("cost", "low", "work")
    assert routing.models == ("anthropic/*", "openai/gpt-5")
    assert routing.constraints.provider_allow == ("anthropic", "openai")
    assert routing.classifier.timeout_ms == 2000
    assert routing.quota.providers == {"openai": QuotaProviderSettings(max_usd=10, max_requests=100)}
    assert routing.aliases["cheap"] == AliasSettings(
        policy="cost", pool="work", models=("openai/*",), minimum_tier="mid", thinking="off"
    )
    assert routing.targets == {
        "gateway/deepseek/deepseek-v4": TargetSettings(identity="deepseek:deepseek-v4", aa=52.5, cost_coefficient=0.5)
    }
    assert routing.identities == {"gateway/deepseek/deepseek-v4": "deepseek:deepseek-v4"}
    assert routing.pools == {
        "work": PoolSettings(targets={"openai/gpt-5": 2, "anthropic/claude-opus-4.5": 1.5}, fallback="any")
    }
    assert routing.rules == (
        RuleSettings(
            name="hotfix",
            when=WhenSettings(kinds=("debug",), prompt_matches="hotfix|prod(uction)? down"),
            then=ActionSettings(only=("anthropic/*",), minimum_tier="strong"),
        ),
        RuleSettings(name="always", then=ActionSettings(policy="fast")),
    )
    assert routing.scenarios == {
        "vision": ActionSettings(prefer=("openai/*",)),
        "long_context": ActionSettings(policy="cost"),
        "review": ActionSettings(only=("anthropic/*", "claude-opus-5")),
        "plan": ActionSettings(policy="best"),
    }


def test_defaults_are_those_of_the_specification(files: Files) -> None:
    """Section 31."""
    routing = files.load().settings.routing
    assert (routing.enabled, routing.policy, routing.shadow) == (True, "balanced", False)
    assert (routing.quota.enabled, routing.quota.window_ms, routing.quota.stale_after_ms) == (
        True,
        86_400_000,
        3_600_000,
    )
    assert routing.failover.max_attempts == 3
    assert (routing.classifier.enabled, routing.classifier.threshold, routing.classifier.timeout_ms) == (
        False,
        0.5,
        400,
    )
    assert (routing.cost.quality_floor, routing.cost.stickiness_tolerance) == (0, 0.1)
    assert (routing.cost_coefficient, PoolSettings().window_hours, PoolSettings().fallback) == (1, 24, "none")
    assert (routing.pool, routing.rules, routing.capability_source, routing.explore) == ("", (), "catalog", 0)


def test_kinds_and_scenarios_are_those_of_the_core() -> None:
    assert get_args(Kind) == (*KIND_NAMES, "mixed")
    assert set(SCENARIO_NAMES.values()) == set(SCENARIOS)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "[routing.classifier]\ntimeout_ms = 0",
            "2: routing.classifier.timeout_ms must be a whole number from 1 to 2000",
        ),
        ("[routing]\npolicy = 'chaep'", "2: routing.policy must be one of balanced, best, cost, fast, not 'chaep'"),
        ("[routing]\npolicies = 'cost'", "2: routing.policies is not a setting. Did you mean routing.policy?"),
        ("[routing.cost]\nquality_floor = 1.5", "2: routing.cost.quality_floor must be a number from 0 to 1"),
        (
            "[routing.failover]\nmax_attempts = 0",
            "2: routing.failover.max_attempts must be a whole number from 1 to 20",
        ),
        ("[routing.pools.p]\ntargets = { 'a/b' = 0 }", "2: routing.pools.p.targets.a/b must be a table of names, each"),
        ("[routing.pools.p]\nfallback = 'any'", "2: routing.pools.p: it has neither targets nor providers."),
        ("[routing.pools.p.targets.a]\nb = 1", "2: routing.pools.p.targets.a.b must be a table of names"),
        ("[routing]\npool = 'wrok'\n[routing.pools.work]\ntargets = { a = 1 }", "2: routing.pool names a pool 'wrok'"),
        ("[routing.aliases.x]\npool = 'gone'", "2: routing.aliases.x.pool names a pool 'gone' that is not there."),
        (
            "[routing.aliases.auto]\npolicy = 'cost'",
            "2: The key of routing.aliases.auto stands for the router already.",
        ),
        ("[routing.targets.gpt-5]\naa = 1", "2: The key of routing.targets.gpt-5 is no `provider/model`."),
        ("[routing.targets.'a/b']\nidentity = 'x'", "2: routing.targets.a/b.identity: 'x' is no `provider:model`."),
        (
            "[routing.scenarios]\nreveiw = 'cost'",
            "2: The key of routing.scenarios.reveiw is no scenario; did you mean 'review'?",
        ),
        (
            "[routing.scenarios]\nlongcontext = 'cost'",
            "2: The key of routing.scenarios.longcontext is no scenario; did you mean",
        ),
        ("[routing.scenarios]\nxyzzy = 'cost'", "2: The key of routing.scenarios.xyzzy is no scenario."),
        ("[routing.scenarios.vision]", "1: routing.scenarios.vision: it has no action."),
        ("[routing.scenarios]\nvision = 3", "2: routing.scenarios.vision.only must be a list of texts, not 3."),
        ("[[routing.rules]]\nname = 'x'", "2: routing.rules[0].then: it has no action."),
        ("[[routing.rules]]\nthen.only = 'a/*'", "2: routing.rules[0].name: a name is expected."),
        (
            "[[routing.rules]]\nname = 'x'\nthen.thinking = 'lots'",
            "3: routing.rules[0].then.thinking must be one of off, minimal, low, medium, high, xhigh, max, not 'lots'.",
        ),
        (
            "[[routing.rules]]\nname = 'x'\nwhen.min_complexity = 0.9\nwhen.max_complexity = 0.1\nthen.policy = 'best'",
            "3: routing.rules[0].when.min_complexity: 0.9 is above the largest, 0.1.",
        ),
        (
            "[[routing.rules]]\nname = 'x'\nwhen.prompt_matches = '(a+)+'\nthen.policy = 'best'",
            "3: routing.rules[0].when.prompt_matches: it may take for ever: what it repeats can be matched in too many ways.",
        ),
        (
            "[[routing.rules]]\nname = 'x'\nwhen.prompt_matches = '('\nthen.policy = 'best'",
            "3: routing.rules[0].when.prompt_matches: it is no regular expression",
        ),
        (
            "[[routing.rules]]\nname = 'x'\nwhen.kind = ['debug']\nthen.policy = 'best'",
            "3: routing.rules[0].when.kind is not a setting. Did you mean when.kinds?",
        ),
        ("[routing.rules]\nname = 'x'", "2: routing.rules.name is a table, not a value."),
        (
            "routing.rules = 3",
            "1: routing.rules is a table, not a value. Write [[routing.rules]] and its keys below it.",
        ),
    ],
)
def test_what_is_wrong_is_named_with_its_line_and_what_was_meant(files: Files, text: str, told: str) -> None:
    problems = files.problems(text)
    assert problems[0].startswith(f"config.toml:{told}")


def test_one_wrong_entry_leaves_the_others(files: Files) -> None:
    """Section 33, item 7: never the whole file for one field."""
    text = ALL + '\n[[routing.rules]]\nname = "bad"\nwhen.kinds = ["debugg"]\nthen.policy = "best"\n'
    routing = files.load(text).settings.routing
    assert [rule.name for rule in routing.rules] == ["hotfix", "always"]
    assert routing.pools.keys() == {"work"}


@pytest.mark.parametrize("field", ["when.min_complexity = 7", "then.thinkng = 'off'", "when.kinds = 'nothing'"])
def test_a_rule_with_a_field_less_would_be_another_rule(files: Files, field: str) -> None:
    text = f"[[routing.rules]]\nname = 'x'\nthen.policy = 'best'\n{field}\n"
    assert files.load(text).settings.routing.rules == ()


def test_a_pool_without_one_of_its_members_would_be_another_pool(files: Files) -> None:
    assert files.load("[routing.pools.p.targets]\na = 1\nb = -1\n").settings.routing.pools == {}


@pytest.mark.parametrize("line", ["models = 3", "modles = ['ollama/*']", "minimum_tier = 'huge'"])
def test_an_alias_without_one_of_its_fields_would_let_more_in(files: Files, line: str) -> None:
    assert files.load(f"[routing.aliases.x]\npolicy = 'cost'\n{line}\n").settings.routing.aliases == {}


def test_of_two_rules_of_one_name_in_a_file_the_first_is_used(files: Files) -> None:
    text = "[[routing.rules]]\nname = 'x'\nthen.policy = 'best'\n[[routing.rules]]\nname = 'x'\nthen.policy = 'cost'\n"
    assert [rule.then.policy for rule in files.load(text).settings.routing.rules] == ["best"]
    assert files.problems(text) == [
        "config.toml:5: routing.rules[1].name: another rule has this name. [[routing.rules]] is left out."
    ]


def test_rules_may_be_written_inline(files: Files) -> None:
    text = "routing.rules = [{ name = 'x', when = {}, then = { exclude = ['a/*'] } }]\n"
    assert files.load(text).settings.routing.rules == (RuleSettings(name="x", then=ActionSettings(exclude=("a/*",))),)
    assert files.problems(text) == []


def test_a_constraint_that_cannot_be_read_keeps_a_daemon_from_starting(files: Files) -> None:
    """Without it, prompts would go where the user does not want them."""
    for text in (
        "[routing.constraints]\nprovider_deny = 3",
        "[routing.constraints]\nprovider_denny = ['a']",
        "routing.models = 1",
    ):
        assert files.load(text).blocking
    assert not files.load("[routing]\npolicy = 3").blocking


@pytest.mark.parametrize(
    ("key", "user", "project", "holds"),
    [
        ("provider_allow", ["a", "b"], ["b", "c"], ("b",)),  # section 31
        ("provider_allow", [], ["b"], ("b",)),
        ("provider_allow", ["a"], [], ("a",)),
        ("provider_allow", ["a"], ["b"], NOBODY),
        (
            "model_include",
            ["anthropic/*"],
            ["*/claude-opus-5", "anthropic/claude-sonnet-4-5"],
            ("anthropic/claude-opus-5", "anthropic/*/claude-opus-5", "anthropic/claude-sonnet-4-5"),
        ),
        ("model_include", ["openai/*-mini"], ["openai/gpt-5*"], ("openai/gpt-5*-mini",)),
        ("model_include", ["anthropic/claude-opus-5"], ["anthropic/*"], ("anthropic/claude-opus-5",)),
        ("provider_deny", ["a"], ["b", "a"], ("a", "b")),
        ("model_exclude", ["a/x"], ["b/*"], ("a/x", "b/*")),
        ("auto_exclude", [], ["b/*"], ("b/*",)),
    ],
)
def test_a_project_only_tightens_constraints(
    files: Files, key: str, user: list[str], project: list[str], holds: tuple[str, ...]
) -> None:
    section = "[routing.constraints]\n"
    loaded = files.load(f"{section}{key} = {user}", f"{section}{key} = {project}")
    assert loaded.problems == ()
    assert getattr(loaded.settings.routing.constraints, key) == holds
    assert loaded.sources[f"routing.constraints.{key}"].kind == "project"


def test_a_project_narrows_the_scope(files: Files) -> None:
    loaded = files.load("routing.models = ['a/*', 'b/x']", "routing.models = ['a/y', 'c/*']")
    assert loaded.settings.routing.models == ("a/y",)


ALIASED = """
[routing.aliases.cheap]
models = ["openai/*-mini", "ollama/*"]
[routing.aliases.pooled]
pool = "mine"
[routing.pools.mine]
targets = { "openai/gpt-5" = 2, "ollama/q" = 1 }
fallback = "any"
"""


def test_an_alias_leads_nobody_past_the_models_of_a_project(files: Files) -> None:
    """Section 31: a project can make the choice smaller, whatever it is asked by."""
    loaded = files.load(ALIASED, "routing.models = ['ollama/*', 'openai/gpt-5*']")
    assert loaded.problems == ()
    found = make_route_config(loaded.settings, "cheap")
    candidates = [
        make_candidate(ModelRecord(provider=provider, id=model))
        for provider, model in (("openai", "gpt-5-mini"), ("openai", "o3-mini"), ("ollama", "q"), ("groq", "q"))
    ]
    limits = Limits(scope=found.scope, constraints=found.constraints)
    assert [one.target for one in find_eligible(candidates, limits).candidates] == ["ollama/q", "openai/gpt-5-mini"]
    assert loaded.sources["routing.constraints.model_include"].kind == "project"


def test_models_of_a_project_hold_beside_what_is_included(files: Files) -> None:
    user = "[routing.constraints]\nmodel_include = ['*-mini']"
    loaded = files.load(user, "routing.models = ['openai/*']\nrouting.constraints.model_include = ['openai/gpt*']")
    assert loaded.settings.routing.constraints.model_include == ("openai/gpt*-mini",)
    assert files.load(user, "routing.models = []").settings.routing.constraints.model_include == ("*-mini",)


@pytest.mark.parametrize(
    ("project", "members"),
    [
        ('targets = { "ollama/q" = 1 }', {"targets": {"ollama/q": 1.0}}),
        (
            "providers = { ollama = 1 }",
            {"targets": {"openai/gpt-5": 2.0, "ollama/q": 1.0}, "providers": {"ollama": 1.0}},
        ),
        ('targets = { "a/b" = 1 }', {"targets": {"": 1.0}}),
        (
            'providers = { ollama = 1 }\nfallback = "any"',
            {"targets": {"openai/gpt-5": 2.0, "ollama/q": 1.0}, "providers": {"ollama": 1.0}, "fallback": "any"},
        ),
    ],
)
def test_the_pool_of_an_alias_has_only_members_of_the_projects_pool(
    files: Files, project: str, members: dict[str, Any]
) -> None:
    loaded = files.load(ALIASED, f"[routing]\npool = 'team'\n[routing.pools.team]\n{project}")
    found = make_route_config(loaded.settings, "pooled")
    assert (found.pool, found.pools["mine"]) == ("mine", convert(members, Pool))


def test_a_users_own_pool_leaves_the_pools_of_aliases_alone(files: Files) -> None:
    loaded = files.load("[routing]\npool = 'all'\n[routing.pools.all]\nproviders = { groq = 1 }" + ALIASED)
    assert loaded.settings.routing.pools["mine"].targets == {"openai/gpt-5": 2.0, "ollama/q": 1.0}


PATTERNS = st.lists(st.text(alphabet="ab*", min_size=1, max_size=4), max_size=3).map(tuple)


@given(user=PATTERNS, project=PATTERNS, name=st.text(alphabet="ab", max_size=5))
def test_a_project_lets_through_what_the_user_does_too(
    user: tuple[str, ...], project: tuple[str, ...], name: str
) -> None:
    def allows(patterns: tuple[str, ...]) -> bool:
        return not patterns or any(matches(pattern, name) for pattern in patterns)

    key = "routing.constraints.provider_allow"
    assert not name or allows(tighten(key, project, user)) == (allows(user) and allows(project))
    denied = tighten("routing.constraints.provider_deny", project, user)
    assert set(user) | set(project) == set(denied)


@pytest.mark.parametrize(
    "text",
    [
        "[providers.x]\nurl = 'https://evil.example'\ndialects = ['anthropic']",
        "[providers.openai]\nurl = 'https://evil.example'",
        "[providers.openai]",
        "[routing.aliases.x]\npolicy = 'cost'",
        "[routing.targets.'a/b']\nidentity = 'c:d'",
        "[routing.classifier]\nenabled = true",
        "[routing.quota.providers.openai]\nmax_usd = 1000",
        "[routing.quota]\nenabled = false",
        "[routing.guards]\nswitch_spend = 1",
        "[routing.failover]\nmax_attempts = 9",
        "[routing]\nexplore = 1",
        "[routing]\nescalation = true",
    ],
)
def test_a_project_has_no_say_in_where_requests_go_and_what_they_cost(files: Files, text: str) -> None:
    loaded = files.load("", text)
    assert [problem.code for problem in loaded.problems] == ["not_allowed"] * len(loaded.problems)
    assert loaded.problems
    assert loaded.settings == files.load().settings


def test_a_project_may_turn_routing_off_and_not_on(files: Files) -> None:
    assert not files.load("", "routing.enabled = false").settings.routing.enabled
    loaded = files.load("routing.enabled = false", "routing.enabled = true")
    assert not loaded.settings.routing.enabled
    assert [problem.code for problem in loaded.problems] == ["not_allowed"]


def test_a_project_may_choose_a_pool_and_not_leave_the_users(files: Files) -> None:
    pools = "[routing.pools.mine]\ntargets = { 'a/b' = 1 }\n"
    team = "[routing]\npool = 'team'\n[routing.pools.team]\ntargets = { 'c/d' = 1 }\n"
    assert files.load(pools, team).settings.routing.pool == "team"
    loaded = files.load("routing.pool = 'mine'\n" + pools, team)
    assert loaded.settings.routing.pool == "mine"
    loaded = files.load(pools, "[routing.pools.mine]\ntargets = { 'evil/x' = 1 }\n")
    assert loaded.settings.routing.pools["mine"].targets == {"a/b": 1}
    assert [problem.code for problem in loaded.problems] == ["not_allowed"]


def test_rules_of_a_project_come_first_and_its_scenarios_replace_those_of_their_name(files: Files) -> None:
    """Section 31."""
    user = (
        "[[routing.rules]]\nname = 'x'\nthen.policy = 'best'\n[routing.scenarios]\nreview = 'best'\nvision = 'best'\n"
    )
    project = "[[routing.rules]]\nname = 'x'\nthen.policy = 'cost'\n[routing.scenarios]\nvision = 'cost'\n"
    loaded = files.load(user, project)
    assert loaded.problems == ()
    assert [rule.then.policy for rule in loaded.settings.routing.rules] == ["cost", "best"]
    assert loaded.sources["routing.rules[0]"].kind == "project"
    assert {name: one.policy for name, one in loaded.settings.routing.scenarios.items()} == {
        "review": "best",
        "vision": "cost",
    }


def test_the_order_of_keys_is_irrelevant(files: Files) -> None:
    parts = [
        "[routing]\npolicy = 'cost'\npool = 'p'\n",
        "[routing.pools.p]\ntargets = { 'a/b' = 1 }\n",
        "[routing.cost]\nquality_floor = 0.5\n",
    ]
    found = [files.load("".join(order)).settings for order in permutations(parts)]
    assert all(one == found[0] for one in found)


def test_the_environment_sets_what_is_no_table(files: Files) -> None:
    loaded = files.load(ULLAGE_ROUTING__POLICY="fast", ULLAGE_ROUTING__CONSTRAINTS__PROVIDER_DENY="a, b")
    assert loaded.settings.routing.policy == "fast"
    assert loaded.settings.routing.constraints.provider_deny == ("a", "b")


NAMES = st.sampled_from(
    [
        *("aliases", "targets", "pools", "rules", "scenarios", "quota", "providers", "constraints", "models", "policy"),
        *("name", "when", "then", "kinds", "only", "prompt_matches", "min_complexity", "max_complexity", "fallback"),
        *("vision", "review", "a/b", "x", "url", "dialects", "key", "identity", "pool", "provider_allow", ""),
    ]
)
VALUES = st.recursive(
    st.one_of(
        st.integers(-2, 5),
        st.floats(),
        st.booleans(),
        st.sampled_from(["", "a", "cost", "(a+)+", "(", "env:X", "https://x.example", "openai-chat", "a:b", "debug"]),
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(NAMES, inner, max_size=3)),
    max_leaves=10,
)
TREES = st.dictionaries(NAMES, VALUES, max_size=3)


def as_layer(kind: SourceKind, routing: dict[str, Any], providers: dict[str, Any]) -> Layer | None:
    tables = {"routing": routing, "providers": providers}
    lines = [
        f"{toml_key(table)}.{toml_key(name)} = {toml_value(value)}"
        for table in tables
        for name, value in tables[table].items()
    ]
    try:
        entries = parse_toml("\n".join(lines))
    except TomlError:
        return None
    source = Source(kind=kind, file="f", line=1)
    return Layer(
        kind=kind,
        entries=tuple(Entry(key=e.key, value=e.value, source=source, base=Path("/"), path=e.path) for e in entries),
    )


@given(TREES, TREES, TREES)
def test_whatever_is_written_there_is_used_or_named(
    routing: dict[str, Any], providers: dict[str, Any], project: dict[str, Any]
) -> None:
    layers = [as_layer("user", routing, providers), as_layer("project", project, providers)]
    there = [layer for layer in layers if layer is not None]
    loaded = resolve(there, find_paths({"HOME": "/nowhere"}, cwd=Path("/nowhere")))
    assert all(str(problem) for problem in loaded.problems)
    make_route_config(loaded.settings)
    assert all(one.root for one in find_providers(loaded.settings, {"X": "k"}))
    assert all(loaded.sources[f"providers.{name}"].kind == "user" for name in loaded.settings.providers)
