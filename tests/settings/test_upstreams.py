"""Addresses of providers: their form, their short names, the loop to ourselves."""

from __future__ import annotations

import pytest

from ullage.core.errors import SettingsError
from ullage.settings import (
    DEFAULT_UPSTREAMS,
    ServerSettings,
    Settings,
    is_own_address,
    parse_upstream_flag,
    provider_root,
    resolve_upstreams,
)


@pytest.mark.parametrize(
    ("written", "root"),
    [
        ("http://h", "http://h"),
        ("http://h/", "http://h"),
        ("https://h/v1", "https://h"),
        ("https://h/v1/", "https://h"),
        ("https://h/v1/v1", "https://h"),
        ("https://h/v1beta", "https://h"),
        ("https://h:8/team/v1", "https://h:8/team"),
        ("https://h/api/v10", "https://h/api/v10"),
        (" http://[::1]:9 ", "http://[::1]:9"),
    ],
)
def test_a_root_has_no_trailing_version(written: str, root: str) -> None:
    assert provider_root(written) == root


@pytest.mark.parametrize(
    "written",
    ["", "h", "h:80", "ftp://h", "http://", "http://h:x", "http://h/a b", "http://h/?k=1", "http://h/#a", "http://["],
)
def test_what_is_no_address_is_refused(written: str) -> None:
    with pytest.raises(SettingsError):
        provider_root(written)


@pytest.mark.parametrize(
    "written",
    ["https://me:secret@h/v1", "me:secret@h", "https://h/v1?key=secret", "https://h/#secret", "http://[secret@"],
)
def test_a_password_in_an_address_is_refused_and_not_repeated(written: str) -> None:
    with pytest.raises(SettingsError) as caught:
        provider_root(written)
    assert "secret" not in f"{caught.value.message} {caught.value.hint}"


def test_unset_dialects_go_to_the_providers_public_addresses() -> None:
    assert resolve_upstreams(Settings()) == DEFAULT_UPSTREAMS


def test_a_short_name_stands_for_both_openai_dialects() -> None:
    resolved = resolve_upstreams(Settings(upstreams={"openai": "http://h/v1", "openai-chat": "http://c"}))
    assert resolved == DEFAULT_UPSTREAMS | {"openai-chat": "http://c", "openai-responses": "http://h"}


def test_a_flag_is_a_dialect_and_an_address() -> None:
    assert parse_upstream_flag("anthropic=http://h/v1?") == {"anthropic": "http://h"}
    assert parse_upstream_flag("openai=http://h:1/v1") == {
        "openai-chat": "http://h:1",
        "openai-responses": "http://h:1",
    }


@pytest.mark.parametrize("text", ["anthropic", "antropic=http://h", "=http://h", "anthropic=", "http://h"])
def test_a_flag_that_is_not_both_is_refused(text: str) -> None:
    with pytest.raises(SettingsError, match=r"--upstream|address"):
        parse_upstream_flag(text)


@pytest.mark.parametrize(
    ("url", "own"),
    [
        ("http://127.0.0.1:8484", True),
        ("http://localhost:8484/x", True),
        ("http://[::1]:8484", True),
        ("http://127.0.0.1:8485", False),
        ("https://example.com:8484", False),
        ("http://127.0.0.1", False),
    ],
)
def test_our_own_address_is_known_by_loopback_and_port(url: str, own: bool) -> None:
    assert is_own_address(url, Settings()) is own


def test_a_port_still_to_be_picked_is_nobodys_address() -> None:
    assert not is_own_address("http://127.0.0.1:0", Settings(server=ServerSettings(port=0)))
