"""Vocabularies that ship with the tokenizer library, counted in bounded pieces.

A count holds the interpreter lock, so a long text is cut into pieces small enough that no relay waits for one, at places where
the tokenizer would part the text anyway: the sum of the pieces is the count of the whole.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

from ullage.core.errors import CallError

from .surrogates import replace_lone_surrogates

if TYPE_CHECKING:
    from collections.abc import Iterator

Kind = Literal["bpe", "sentencepiece"]

# The pre-tokenizers of all byte-level vocabularies below end a word or number before these neighbours (accounting
# specification, section 24). A newline run is ended by anything but white space; the slash is left out because o200k's
# punctuation pieces take newlines and slashes alike.
_BPE_BOUNDARY = re.compile(
    r"(?<=[A-Za-z0-9])(?=[\s!-&(-/:-@\[-`{-~])|(?<=[A-Za-z])(?=[0-9])|(?<=[0-9])(?=[A-Za-z])|(?<=\n)(?=[^\s/])"
    r"|(?<=[\u3041-\u3096\u30a1-\u30fa\u4e00-\u9fff\uac00-\ud7a3])(?=[\u3001\u3002\uff01\uff0c\uff1a\uff1b\uff1f])"
)
# In a SentencePiece vocabulary no piece has a space behind a letter: the space begins the next word.
_SENTENCEPIECE_BOUNDARY = re.compile(r"(?<=[A-Za-z])(?= [A-Za-z])")

_BOUNDARIES: dict[Kind, re.Pattern[str]] = {"bpe": _BPE_BOUNDARY, "sentencepiece": _SENTENCEPIECE_BOUNDARY}
# Measured on one core with a cold cache of words: byte-level vocabularies take 5 to 12 MB/s, SentencePiece 1.5 to 3.5. A piece
# then takes one to three milliseconds; no relay may wait more than five (design, section 11).
_PIECE_CHARS: dict[Kind, int] = {"bpe": 16_384, "sentencepiece": 4_096}
# Letters beyond ASCII are three or four bytes and rarely in a cache of words.
_BEYOND_ASCII = 4

VOCABULARIES: dict[str, Kind] = {
    "cl100k_base": "bpe",
    "deepseek_v3": "bpe",
    "gemma3": "sentencepiece",
    "glm4": "bpe",
    "kimi_k2": "bpe",
    "kimi_k3": "bpe",
    "llama3": "bpe",
    "mistral_v3": "bpe",
    "o200k_base": "bpe",
    "qwen3": "bpe",
}
"""Vocabularies that can be counted offline, by the library's name. Those that rewrite the start of a text are left out: their
pieces would not add up."""


class Vocabulary:
    """One loaded vocabulary. `count` is exact, but for text without any boundary, where a cut may add a token to some
    thousands. Special-token text counts as ordinary text, no template is added."""

    __slots__ = ("_boundary", "_encode", "_piece_chars", "name")

    def __init__(self, name: str, tokenizer: Any, kind: Kind) -> None:
        self.name = name
        self._encode = tokenizer.encode_ordinary
        self._boundary = _BOUNDARIES[kind]
        self._piece_chars = _PIECE_CHARS[kind]

    def count(self, text: str) -> int:
        """Tokens of the text. Lone surrogates count as U+FFFD."""
        piece_chars = self._piece_chars if text.isascii() else self._piece_chars // _BEYOND_ASCII
        longest_chars = piece_chars + piece_chars // 2
        if len(text) <= piece_chars:
            return self._count_piece(text)
        return sum(self._count_piece(piece) for piece in cut(text, self._boundary, piece_chars, longest_chars))

    def _count_piece(self, piece: str) -> int:
        try:
            return len(self._encode(piece))
        except UnicodeEncodeError:
            return len(self._encode(replace_lone_surrogates(piece)))


def cut(text: str, boundary: re.Pattern[str], piece_chars: int, longest_chars: int | None = None) -> Iterator[str]:
    """The text in pieces that end at the first boundary at or after `piece_chars`, at `longest_chars` at the latest.

    Without that limit a text without boundaries stays whole, and the search for one holds the interpreter as a count does.
    """
    start = 0
    while len(text) - start > piece_chars:
        limit = len(text) if longest_chars is None else min(start + longest_chars, len(text))
        found = boundary.search(text, start + piece_chars, limit)
        end = found.start() if found is not None else limit
        yield text[start:end]
        start = end
    if start < len(text):
        yield text[start:]


@cache
def load_vocabulary(name: str) -> Vocabulary:
    """The vocabulary of that name, loaded once (30 to 100 ms). Raises `CallError` for a name not in `VOCABULARIES`."""
    kind = VOCABULARIES.get(name)
    if kind is None:
        raise CallError(
            f"There is no vocabulary {name!r}.",
            hint=f"Known are {', '.join(VOCABULARIES)}.",
            code="unknown_vocabulary",
        )
    from splintr import Tokenizer

    return Vocabulary(name, Tokenizer.from_pretrained(name), kind)
