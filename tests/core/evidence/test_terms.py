"""What a request is searched by."""

from __future__ import annotations

import pytest

from ullage.core.evidence.stopwords import STOPWORDS
from ullage.core.evidence.terms import MOST_TERMS, find_terms, holds, joined, says_something


def read(*terms: str) -> list[str]:
    """Joined words as a person reads them."""
    return [term.strip("\x1f").replace("\x1f", " ") for term in terms]


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("", []),
        ("   \n", []),
        ("Which port does the gateway use?", ["port", "gateway"]),
        ("Port PORT port", ["port"]),
        ("port 8080, 17", ["port"]),
        ("a b c", []),
        ("the build-runner, and vitest", ["build runner", "vitest"]),
        ("see src/core/config.ts", ["src core config ts", "src", "core", "config", "ts"]),
        ("rename `parseConfig` now", ["parseconfig", "rename"]),
        ("then MAX_TOKENS or maxTokens", ["max tokens", "maxtokens"]),
        ("foo::bar", ["foo bar", "foo", "bar"]),
        ("Un caffè per Zoë", ["caffe", "zoe"]),
        ("don't I've", []),
    ],
)
def test_terms_are_names_first_then_words(text: str, terms: list[str]) -> None:
    assert read(*find_terms(text)) == terms


@pytest.mark.parametrize(
    "text", ["ok", "ok, procedi", "go on", "Continue.", "implement it", "yes please!", "D'accordo?"[9:]]
)
def test_a_request_that_only_goes_on_asks_for_nothing(text: str) -> None:
    """Regression R6."""
    assert find_terms(text) == ()


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("请使用构建工具", ["请使", "使用", "用构", "构建", "建工", "工具"]),
        ("使う", ["使う"]),
        ("빌드 도구", ["빌드", "도구"]),
        ("字", ["字"]),
    ],
)
def test_scripts_without_blanks_are_asked_for_by_pairs(text: str, terms: list[str]) -> None:
    folded = [joined(term) for term in terms]
    assert list(find_terms(text)) == folded


@pytest.mark.parametrize(
    ("text", "wanted", "found"),
    [
        ("the config of it", "on", False),
        ("turn it on", "on", True),
        ("Build Runner = vitest", "build-runner", True),
        ("build the runner", "build-runner", False),
        ("prebuild-runner", "build-runner", False),
        ("设置构建工具", "构建", True),
        ("Perché", "perche", True),
        ("anything", "", False),
        ("", "", False),
        ("", "x", False),
    ],
)
def test_words_are_found_as_a_whole_and_in_a_row(text: str, wanted: str, found: bool) -> None:
    """Regression R11: "on" matched "config". What normalises to nothing matched everything."""
    assert holds(joined(text), joined(wanted)) is found


def test_not_more_terms_than_are_of_use() -> None:
    assert len(find_terms(" ".join(f"word{number}x" for number in range(99)))) == MOST_TERMS


def test_only_the_beginning_of_a_long_request_is_looked_at() -> None:
    assert read(*find_terms("x" * 20_000 + " hidden")) == ["x" * 20_000]


def test_a_stopword_among_others_is_part_of_a_name() -> None:
    assert says_something(joined("log in"))
    assert not says_something(joined("it is on"))


def test_stopwords_are_folded_so_that_they_can_match() -> None:
    assert all(read(joined(word)) == [word] for word in STOPWORDS)


@pytest.mark.parametrize("piece", ["a", "a-", "_", "`", "a.", "字", "aA", "a:", "....", "a.b/"])
def test_a_hostile_request_is_read_in_one_go(piece: str) -> None:
    """Patterns that try again at each character would take a minute for this."""
    assert len(find_terms(piece * 20_000)) <= MOST_TERMS * 40
