"""Providers that routed requests may go to: what counts, and where keys are found (design, section 10)."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING

import pytest

from ullage.core.privacy.policy import PrivacySettings
from ullage.settings import Settings
from ullage.settings.providers import Provider, find_providers
from ullage.settings.well_known import WELL_KNOWN
from ullage.upstream import provider_of

if TYPE_CHECKING:
    from tests.settings.conftest import Files

CORP = "[providers.corp]\nurl = 'https://llm.corp.example/v1/'\ndialects = ['openai-chat', 'anthropic']\n"


def test_everything_can_be_said_of_a_provider(files: Files) -> None:
    loaded = files.load(CORP + "key = 'env:CORP_KEY'\nmodels = ['gpt-5', 'claude-opus-5']\n")
    assert loaded.problems == ()
    (found,) = find_providers(loaded.settings, {"CORP_KEY": "secret"})
    assert (found.name, found.root, found.dialects) == (
        "corp",
        "https://llm.corp.example",
        ("openai-chat", "anthropic"),
    )
    assert found.models == ("gpt-5", "claude-opus-5")
    assert found.credential is not None
    assert (found.credential.reveal(), found.problem) == ("secret", "")
    assert "secret" not in repr(found)


def test_a_well_known_provider_counts_once_it_has_a_key(files: Files) -> None:
    settings = files.load().settings
    assert find_providers(settings, {}) == ()
    found = find_providers(settings, {"GROQ_API_KEY": "g", "OPENAI_API_KEY": "o"})
    assert [(one.name, one.root) for one in found] == [
        ("groq", "https://api.groq.com/openai"),
        ("openai", "https://api.openai.com"),
    ]


def test_a_provider_of_this_machine_counts_where_it_is_named_and_needs_no_key(files: Files) -> None:
    (found,) = find_providers(files.load("[providers.ollama]\nmodels = ['qwen3:8b']").settings, {})
    assert (found.root, found.dialects, found.models) == (
        "http://127.0.0.1:11434",
        ("openai-chat", "openai-responses", "anthropic"),
        ("qwen3:8b",),
    )
    assert (found.credential, found.problem, found.loopback) == (None, "", True)


def test_hosts_of_well_known_providers_have_their_names() -> None:
    for name, known in WELL_KNOWN.items():
        if known.root.startswith("https:"):
            assert provider_of(known.root) == name


ACCOUNTS = [name for name, known in WELL_KNOWN.items() if not known.root]


@pytest.mark.parametrize("name", ACCOUNTS)
def test_a_provider_whose_accounts_have_addresses_of_their_own_needs_one(name: str, files: Files) -> None:
    known = WELL_KNOWN[name]
    assert known.source.startswith("https://")
    (told,) = files.problems(f"[providers.{name}]\nmodels = ['m']")
    assert f"providers.{name}: it has no url; that of an account is like {known.example}." in told
    url = known.example.replace("RESOURCE", "mine").replace("REGION", "eu-west-1")
    settings = files.load(f"[providers.{name}]\nurl = '{url}/v1'\nmodels = ['m']").settings
    variable = known.key.removeprefix("env:")
    (found,) = find_providers(settings, {variable: "k"})
    assert (found.root, found.dialects, found.problem) == (url, known.dialects, "")
    assert found.credential is not None and found.credential.variable == variable
    (without,) = find_providers(settings, {})
    assert without.problem == f"{variable} is not set."


def test_providers_without_an_address_do_not_count_by_their_keys_alone() -> None:
    environ = {WELL_KNOWN[name].key.removeprefix("env:"): "k" for name in ACCOUNTS}
    assert find_providers(Settings(), environ) == ()


@pytest.mark.parametrize(
    ("key", "problem"),
    [
        ("", "Set providers.corp.key."),
        ("key = 'env:CORP_KEY'", "CORP_KEY is not set."),
        ("key = 'env:BAD'", "BAD holds characters that no key has. Set BAD to the key alone, without quotes."),
        ("key = 'none'", ""),
    ],
)
def test_a_key_that_is_missing_is_told(files: Files, key: str, problem: str) -> None:
    (found,) = find_providers(files.load(CORP + key).settings, {"BAD": "two words"})
    assert (found.credential, found.problem) == (None, problem)


class Keyring(ModuleType):
    """In the place of the library, with one password; a locked one has none."""

    def __init__(self, *, locked: bool = False) -> None:
        super().__init__("keyring")
        self.errors = ModuleType("keyring.errors")
        self.errors.KeyringError = type("KeyringError", (Exception,), {})  # type: ignore[attr-defined]
        self._locked = locked

    def get_password(self, service: str, user: str) -> str | None:
        if self._locked:
            raise self.errors.KeyringError("secret of the system")
        return "from the keyring".replace(" ", "-") if (service, user) == ("llm", "me/work") else None


def asked(
    files: Files, monkeypatch: pytest.MonkeyPatch, keyring: Keyring | None, place: str = "llm/me/work"
) -> Provider:
    monkeypatch.setitem(sys.modules, "keyring", keyring)
    monkeypatch.setitem(sys.modules, "keyring.errors", keyring.errors if keyring is not None else None)
    (found,) = find_providers(files.load(f"{CORP}key = 'keyring:{place}'").settings, {})
    return found


def test_a_key_may_be_in_the_keyring(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    found = asked(files, monkeypatch, Keyring())
    assert found.credential is not None
    assert (found.credential.reveal(), repr(found.credential)) == ("from-the-keyring", "keyring:llm/me/work")


def test_a_keyring_that_lacks_it_or_cannot_be_read_or_is_not_installed_is_told(
    files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert asked(files, monkeypatch, Keyring(), "llm/you").problem == "The keyring has no password for llm/you."
    locked = asked(files, monkeypatch, Keyring(locked=True)).problem
    assert locked == "The keyring cannot be read: KeyringError. Use env:VARIABLE on a machine without one."
    assert "pip install 'ullage[keyring]'" in asked(files, monkeypatch, None).problem


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "[providers.x]\nurl = 'ftp://x'\ndialects = ['gemini']",
            "2: providers.x.url: 'ftp://x' is not an http or https address.",
        ),
        (
            "[providers.Ollama]\nurl = 'https://ollama.example'\ndialects = ['openai-chat']",
            "2: providers.Ollama.url: Ollama is a name for this machine alone, which may be sent everything.",
        ),
        ("[providers.x]\ndialects = ['gemini']", "2: providers.x: it has no url."),
        ("[providers.opnai]\nkey = 'none'", "2: providers.opnai: it has no url; did you mean 'openai'?"),
        ("[providers.x]\nurl = 'https://x.example'", "2: providers.x: it has no dialects."),
        ("[providers.'a/b']\nurl = 'https://x.example'", "2: The key of providers.a/b holds a slash or a space."),
        (
            "[providers.x]\nurl = 'https://x.example'\ndialects = ['grok']",
            "3: providers.x.dialects must be a list of openai-chat,",
        ),
        ("[providers.openai]\nmodles = ['x']", "2: providers.openai.modles is not a setting. Did you mean models?"),
        ("[providers]\nopenai = 'x'", "2: providers.openai is a table, not a value. Write [providers.NAME]"),
        (
            "[providers.x]\nurl = 'http://127.0.0.1:8484/v1'\ndialects = ['gemini']",
            "2: providers.x is http://127.0.0.1:8484/v1, ullage's own",
        ),
    ],
)
def test_what_is_wrong_with_a_provider_is_named(files: Files, text: str, told: str) -> None:
    assert files.problems(text)[0].startswith(f"config.toml:{told}")


def test_a_well_known_provider_that_cannot_be_read_keeps_a_daemon_from_starting(files: Files) -> None:
    """Without its address, prompts would go to its usual one."""
    for line in ("url = 'nowhere'", "urll = 'https://proxy.example'", "key = 3"):
        loaded = files.load(f"[providers.openai]\n{line}\n")
        assert loaded.blocking
        assert loaded.settings.providers == {}
    assert not files.load("[providers.corp]\nurl = 'nowhere'\n").blocking


def test_a_key_in_the_place_of_its_place_is_never_repeated(files: Files) -> None:
    """Somebody will write the key itself there."""
    loaded = files.load("[providers.openai]\nkey = 'sk-proj-0123456789abcdef'\n")
    (problem,) = loaded.problems
    assert problem.code == "bad_value"
    assert "sk-proj" not in str(problem)
    assert loaded.settings.providers == {}


def test_an_address_with_a_password_is_refused_and_not_repeated(files: Files) -> None:
    (told,) = files.problems("[providers.x]\nurl = 'https://me:hunter2@x.example'\ndialects = ['gemini']")
    assert "hunter2" not in told


def test_names_of_servers_of_this_machine_are_those_that_privacy_trusts() -> None:
    here = {name for name, known in WELL_KNOWN.items() if known.root.startswith("http:")}
    assert here - {"vllm"} == set(PrivacySettings().local_providers) - {"faux"}
