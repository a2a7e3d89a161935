"""Planner specification, section 23.2: local or remote, and which classes may go there."""

from __future__ import annotations

import pytest

from ullage.core.privacy import CLASSES, PrivacySettings, RemoteProvider, find_destination
from ullage.core.privacy.destination import narrow

SETTINGS = PrivacySettings(enabled=True)


def kind(root: str, *names: str, provider: str = "somewhere") -> str:
    settings = PrivacySettings(local_providers=names) if names else SETTINGS
    return find_destination(settings, provider=provider, root=root).kind


def test_a_remote_provider_may_see_normal_and_internal_text() -> None:
    destination = find_destination(SETTINGS, provider="anthropic", root="https://api.anthropic.com")
    assert (destination.kind, destination.allowed, destination.redact) == ("remote", ("normal", "internal"), True)


def test_a_local_provider_may_see_everything_and_secrets_too() -> None:
    destination = find_destination(SETTINGS, provider="Ollama", root="http://gpu.example:9000")
    assert (destination.kind, destination.allowed, destination.redact) == ("local", CLASSES, False)


@pytest.mark.parametrize("root", ["http://localhost:11434", "http://127.0.0.1:11434", "http://[::1]:1234"])
def test_known_servers_of_models_are_local_at_their_usual_ports_of_this_machine(root: str) -> None:
    assert kind(root) == "local"


@pytest.mark.parametrize("root", ["http://127.0.0.1:4000", "http://10.0.0.5:11434", "http://ollama.example"])
def test_no_address_is_local_by_itself_since_proxies_listen_there_too(root: str) -> None:
    assert kind(root) == "remote"


@pytest.mark.parametrize("name", ["127.0.0.1:4000", "LOCALHOST:4000", "localhost", "127.0.0.1", "[::1]:4000"])
def test_an_address_of_this_machine_is_local_once_it_is_named(name: str) -> None:
    assert kind("http://127.0.0.1:4000/v1", name) == "local"
    assert kind("http://10.0.0.5:4000", name) == "remote"


def test_a_host_is_local_by_its_name_with_or_without_port() -> None:
    assert kind("http://box.lan:8000", "box.lan") == "local"
    assert kind("http://box.lan:8000", "box.lan:8000") == "local"
    assert kind("http://box.lan:8000", "box.lan:9000") == "remote"
    assert kind("https://box.lan", "box.lan:443") == "local"


def test_a_known_host_is_known_by_its_own_name_whatever_name_it_was_given() -> None:
    settings = PrivacySettings(remote_providers={"openai": RemoteProvider(allowed=("normal",))})
    destination = find_destination(settings, provider="work", root="https://api.openai.com")
    assert (destination.allowed, destination.provider) == (("normal",), "work")


def test_a_rule_for_a_provider_holds_in_place_of_the_default_and_makes_it_remote() -> None:
    settings = PrivacySettings(
        local_providers=("ollama",),
        remote_providers={"OpenRouter": RemoteProvider(allowed=("normal",)), "ollama": RemoteProvider()},
    )
    router = find_destination(settings, provider="openrouter", root="https://openrouter.ai/api")
    assert (router.kind, router.allowed) == ("remote", ("normal",))
    assert find_destination(settings, provider="ollama", root="http://h").allowed == ()


def test_a_provider_that_is_named_twice_may_see_what_both_allow() -> None:
    settings = PrivacySettings(
        remote_providers={
            "openrouter": RemoteProvider(allowed=("normal", "internal")),
            "openrouter.ai": RemoteProvider(allowed=("normal", "sensitive")),
        }
    )
    assert find_destination(settings, provider="openrouter", root="https://openrouter.ai").allowed == ("normal",)


def test_where_it_is_not_known_who_gets_a_text_the_strictest_decides() -> None:
    settings = PrivacySettings(
        local_providers=("ollama",), remote_providers={"strict": RemoteProvider(allowed=("normal",))}
    )
    local, strict, usual = (
        find_destination(settings, provider=name, root="https://a.example") for name in ("ollama", "strict", "usual")
    )
    assert narrow([local]) == local
    assert narrow([local, local]).kind == "local"
    found = narrow([local, usual, strict])
    assert (found.kind, found.allowed, found.redact) == ("remote", ("normal",), True)
