"""Planner specification, sections 23.3 and 35.1 (R29): every credential that they name, and what is none."""

from __future__ import annotations

import pytest

from ullage.core.privacy.secrets import find_secrets, redact

S = "[secret withheld by ullage]"
KEY = "-----BEGIN {0}PRIVATE KEY-----\nMIIEowIBAAKCAQEA\nabc+/=\n-----END {0}PRIVATE KEY-----"


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("sk-abcdefgh", S),
        ("key: sk-ant-api03-AbCd_1234-x.", f"key: {S}."),
        *((f"{prefix}_abcdefghijkl", S) for prefix in ("ghp", "gho", "ghu", "ghs", "ghr")),
        ("github_pat_11ABCDEFG0_abcdefghijkl", S),
        ("glpat-abcdefghij1234567890", S),
        *((f"xox{letter}-1234567890-abcdef", S) for letter in "abeprs"),
        ("xapp-1-A0123-45678-abcdef", S),
        ("AKIAIOSFODNN7EXAMPLE", S),
        ("ASIAIOSFODNN7EXAMPLE", S),
        ("Authorization: Bearer abcdefghijklmnop", f"Authorization: Bearer {S}"),
        ("authorization: bearer AbC.dEf-12=", f"authorization: bearer {S}"),
        (f"a {KEY.format('')} b", f"a {S} b"),
        (KEY.format("RSA "), S),
        (KEY.format("OPENSSH "), S),
        ("x -----BEGIN PGP PRIVATE KEY BLOCK-----\nabc", f"x {S}"),
        ('password = "hunter22"', f'password = "{S}"'),
        ("PASSWORD=hunter", f"PASSWORD={S}"),
        ("api_key=super-secret-value", f"api_key={S}"),
        ("x-api-key: abcd", f"x-api-key: {S}"),
        ("apiKey: 'a b c d'", f"apiKey: '{S}'"),
        ("access token := abcdef", f"access token := {S}"),
        ('"access_token": "abc\\"def"', f'"access_token": "{S}"'),
        ("authToken=>abcdef,", f"authToken=>{S},"),
        ('{\\"client_secret\\":\\"abcdef\\"}', f'{{\\"client_secret\\":\\"{S}\\"}}'),
        ("--password=a1b2&next", f"--password={S}&next"),
        ("password: 'never closed", f"password: '{S}"),
        ("postgres://user:pw@host/db", f"postgres://user:{S}@host/db"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl", S),
        ("SG.abcdefghijklmnopqrstuv.abcdefghijklmnopqrstuvwxyz0123456789ABCDEFG", S),
        ("sk_live_abcdefghijklmnopqrstuvwx", S),
        ("https://hooks.slack.com/services/T000/B000/XXXX", S),
    ],
)
def test_a_credential_is_withheld(text: str, left: str) -> None:
    assert redact(text)[0] == left
    assert redact(left) == (left, [])


@pytest.mark.parametrize(
    "text",
    [
        "risk-management-plan and task-12345678",
        "sk-short",
        "ghp_short",
        "high_performance_of_the_day_ghs_x",
        "AKIA1234",
        "the bearer of bad news",
        "password = ''",
        "password: abc",
        "password: string;",
        "password = getpass()",
        "const apiKey = await load()",
        "self.password = config.password",
        "password=new_password, userPassword=userPassword",
        'api_key = "${API_KEY}"',
        "password: $DB_PASSWORD",
        "print('password: ' + value)",
        "hasApiKey = restored",
        "https://example.com/a:b",
        "-----BEGIN CERTIFICATE-----",
        S,
        f'password = "{S}"',
    ],
)
def test_what_is_no_credential_stays(text: str) -> None:
    assert redact(text) == (text, [])


def test_one_credential_that_two_rules_find_counts_once() -> None:
    assert redact('api_key = "sk-abcdefgh1234"')[1] == ["assignment"]


def test_counts_are_of_credentials_in_order_of_place() -> None:
    text = "é🦊 sk-abcdefgh ghp_abcdefghijkl é password=hunter22"
    assert [text[found.start : found.end] for found in find_secrets(text)] == [
        "sk-abcdefgh",
        "ghp_abcdefghijkl",
        "hunter22",
    ]


def test_a_token_longer_than_any_window_goes_whole() -> None:
    assert redact(f"x {'eyJ' + 'a' * 40}.{'b' * 3000}.{'c' * 3000} y")[0] == f"x {S} y"
    assert redact(f"x sk-{'a' * 9000} y")[0] == f"x {S} y"


@pytest.mark.parametrize(
    "piece",
    ["eyJ", "eyJ=", "sk-", "password=", "://a:", "-----BEGIN PRIVATE KEY-----", "xoxb-1-", "password: '\\", "aws"],
)
def test_hostile_text_takes_time_by_its_length(piece: str) -> None:
    redact(piece * (60_000 // len(piece)))  # quadratic time would take minutes
