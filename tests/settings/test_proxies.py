"""Proxies by the usual environment variables."""

from __future__ import annotations

import pytest

from ullage.settings.proxies import find_proxies

ROOTS = ["https://api.openai.com", "http://provider.test:9000", "http://127.0.0.1:8000"]


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


def test_without_variables_there_is_none() -> None:
    assert find_proxies(ROOTS) == {}


def test_each_scheme_has_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", "http://user:pass@proxy.test:3128")
    assert find_proxies(ROOTS) == {"https://api.openai.com": "http://user:pass@proxy.test:3128"}


def test_loopback_and_excepted_hosts_are_reached_directly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://proxy.test:3128")
    monkeypatch.setenv("no_proxy", "provider.test")
    assert find_proxies(ROOTS) == {}
