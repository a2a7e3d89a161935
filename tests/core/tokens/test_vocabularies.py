from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ullage.core.errors import CallError
from ullage.core.tokens import VOCABULARIES, load_vocabulary
from ullage.core.tokens.vocabularies import _BOUNDARIES, Vocabulary, cut

# Fragments that meet at every kind of border a pre-tokenizer knows, cut as finely as the rule allows.
fragments = st.sampled_from(
    ["a", "B", "word", "it's", "I'LL", "'", "''s", "7", "2024", "1234567", " ", "  ", "\t", "\n", "\r\n", "\n\n\n", "/",
     "//\n/", "{", '":"', "...", "-", "_", "—", "é", "e\u0301", "ß", "中文", "の", "한글", "，",
     "。", "、\n", "：", "\u00a0", "\u3000",
     "\x1c", "\x85", "\u2028", "\N{GRINNING FACE}",
     "\u200d", "<|endoftext|>", "</s>", "<bos>", "[INST]", "x = 1;", "١٢", "א"]
)  # fmt: skip
texts = st.one_of(st.lists(fragments, max_size=40).map("".join), st.text(max_size=60))


@pytest.mark.parametrize("name", VOCABULARIES)
@settings(max_examples=60, deadline=None)
@given(text=texts, piece=st.integers(1, 12))
def test_the_pieces_of_a_text_add_up_to_the_whole(name: str, text: str, piece: int) -> None:
    vocabulary = load_vocabulary(name)
    boundary = _BOUNDARIES[VOCABULARIES[name]]
    pieces = list(cut(text, boundary, piece))
    assert "".join(pieces) == text
    assert sum(map(vocabulary.count, pieces)) == vocabulary.count(text)


def test_a_long_text_counts_as_the_tokenizer_counts_it_whole() -> None:
    from splintr import Tokenizer

    text = "".join(f'line {n}: {{"key": "value of {n * n}", "path": "/a/b{n}.py"}}\n' for n in range(8_000))
    whole = len(Tokenizer.from_pretrained("o200k_base").encode_ordinary(text))
    assert len(text) > 20 * 16_384
    assert load_vocabulary("o200k_base").count(text) == whole


def test_pieces_are_bounded_where_the_text_has_boundaries() -> None:
    text = "word " * 1000
    assert max(map(len, cut(text, re.compile(r"(?<=[a-z])(?= )"), 100))) <= 105


def test_a_text_without_boundaries_stays_whole() -> None:
    assert list(cut("中" * 50, _BOUNDARIES["bpe"], 10)) == ["中" * 50]


@pytest.mark.parametrize("name", ["o200k_base", "deepseek_v3", "gemma3"])
@pytest.mark.parametrize("letter", ["x", "=", "\n", "中", "\N{GRINNING FACE}"])
def test_a_text_without_boundaries_is_counted_in_bounded_pieces(
    name: str, letter: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One piece holds the interpreter while it is counted; so does the search for its end."""
    lengths: list[int] = []
    count_piece = Vocabulary._count_piece

    def noting(vocabulary: Vocabulary, piece: str) -> int:
        lengths.append(len(piece))
        return count_piece(vocabulary, piece)

    vocabulary = load_vocabulary(name)
    text = letter * 100_000
    whole = vocabulary._count_piece(text)
    monkeypatch.setattr(Vocabulary, "_count_piece", noting)
    assert vocabulary.count(text) == pytest.approx(whole, rel=0.01)
    assert sum(lengths) == len(text)
    assert max(lengths) <= (24_576 if letter.isascii() else 6_144)


def test_special_tokens_in_a_text_count_as_ordinary_text() -> None:
    assert load_vocabulary("o200k_base").count("<|endoftext|>") == 7


@pytest.mark.parametrize("name", VOCABULARIES)
def test_no_vocabulary_adds_a_template_or_counts_a_lone_surrogate_differently(name: str) -> None:
    vocabulary: Vocabulary = load_vocabulary(name)
    assert vocabulary.count("") == 0
    assert vocabulary.count("a\ud83db") == vocabulary.count("a\ufffdb")


def test_an_unknown_vocabulary_is_refused_with_the_known_names() -> None:
    with pytest.raises(CallError, match="klingon") as caught:
        load_vocabulary("klingon")
    assert "o200k_base" in caught.value.hint
