"""Patterns of credentials that others keep: the plugins of detect-secrets that look for the shape of a token.

Not taken are its plugins for entropy and for words like `secret`, which hit code, those that know no fixed letters to look for
first, and those for names of values that belong to one vendor. They are imported when they are first needed: that takes a tenth
of a second and 20 MB, for parts of the library that are not used.
"""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from .rules import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .rules import Finder, Span

_PACKAGE = "detect_secrets.plugins"

# Patterns of others may take quadratic time on hostile text, so they see this much around an anchor. A token that is longer is
# known by its beginning, and withheld to the end of its letters.
_BEFORE_CHARS = 256
_AFTER_CHARS = 768
_SCOPE_CHARS = 512
_LETTERS = re.compile(r"[\w.+/=-]*+", re.ASCII)
# Part of a match that is the secret itself, where the rest names it.
_VALUE_MIN_CHARS = 16


class Plugin(Struct, frozen=True):
    """One plugin: its module and class, and the anchors and the sign (see `Rule`) of all that it finds.

    `value` marks one whose only group is the secret, however short.
    """

    module: str
    name: str
    anchors: tuple[str, ...]
    sign: bytes | None = None
    value: bool = False


PLUGINS = (
    Plugin(
        "aws",
        "AWSKeyDetector",
        ("a3t", "abia", "acca", "akia", "asia", "aws"),
        rb"A(?:3T[A-Z0-9]|BIA|CCA|KIA|SIA)[0-9A-Z]{16}|(?i:aws.{0,100}[0-9a-z/+\\]{40})",
    ),
    Plugin("azure_storage_key", "AzureStorageKeyDetector", ("accountkey=",)),
    Plugin("basic_auth", "BasicAuthDetector", ("://",), rb"://[^@/?#\s]{1,1024}@", value=True),
    Plugin("github_token", "GitHubTokenDetector", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), rb"gh[pousr]_\w{36}"),
    Plugin(
        "gitlab_token",
        "GitLabTokenDetector",
        (
            "glpat-",
            "gldt-",
            "glft-",
            "glsoat-",
            "glrt-",
            "gr1348941",
            "glcbt-",
            "glimt-",
            "glptt-",
            "glagent-",
            "gloas-",
        ),
    ),
    Plugin("jwt", "JwtTokenDetector", ("eyj",), rb"eyJ[\w=-]"),
    Plugin("mailchimp", "MailchimpDetector", ("-us",), rb"-us[0-9]"),
    Plugin("npm", "NpmDetector", ("_authtoken",)),
    Plugin("openai", "OpenAIDetector", ("t3blbkfj",)),
    Plugin("pypi_token", "PypiTokenDetector", ("pypi-age",)),
    Plugin("sendgrid", "SendGridDetector", ("sg.",), rb"SG\.[\w-]{22}\."),
    Plugin("slack", "SlackDetector", ("xox", "hooks.slack.com")),
    Plugin("square_oauth", "SquareOAuthDetector", ("sq0csp-",)),
    Plugin("stripe", "StripeDetector", ("k_live_",)),
)
NOT_TAKEN = frozenset(
    {
        "ArtifactoryDetector",
        "Base64HighEntropyString",
        "CloudantDetector",
        "DiscordBotTokenDetector",
        "HexHighEntropyString",
        "IPPublicDetector",
        "IbmCloudIamDetector",
        "IbmCosHmacDetector",
        "KeywordDetector",
        "PrivateKeyDetector",
        "SoftlayerDetector",
        "TelegramBotTokenDetector",
        "TwilioKeyDetector",
    }
)
"""Private keys are a rule of ours, since the library's ends with their first line."""


@cache
def library_rules() -> tuple[Rule, ...]:
    """The rules of the plugins. Raises `ImportError` or `AttributeError` if the library is not what it was: none is skipped."""
    return tuple(
        Rule(
            kind=detector.secret_type,
            anchors=plugin.anchors,
            find=_finder(pattern, least=1 if plugin.value else _VALUE_MIN_CHARS),
            sign=None if plugin.sign is None else re.compile(plugin.sign, re.DOTALL),
            scope=_SCOPE_CHARS,
        )
        for plugin in PLUGINS
        for detector in (load_plugin(plugin),)
        for pattern in detector.denylist
    )


def load_plugin(plugin: Plugin) -> Any:
    """The library's class."""
    return getattr(import_module(f"{_PACKAGE}.{plugin.module}"), plugin.name)


def _finder(pattern: re.Pattern[str], least: int) -> Finder:
    def find(text: str, position: int) -> Iterator[Span]:
        start = max(0, position - _BEFORE_CHARS)
        for found in pattern.finditer(text[start : position + _AFTER_CHARS]):
            first, end = _value_span(found, least)
            letters = _LETTERS.match(text, start + end)
            assert letters is not None, "nothing is also matched"
            yield start + first, letters.end() if end == found.end() else start + end

    return find


def _value_span(found: re.Match[str], least: int) -> Span:
    """The longest group, if it is long enough to be the secret itself; else all that was found."""
    spans = [found.span(number) for number in range(1, found.re.groups + 1) if found[number] is not None]
    longest = max(spans, key=lambda span: span[1] - span[0], default=(0, 0))
    return longest if longest[1] - longest[0] >= least else found.span()
