"""What a reply draws on."""

from __future__ import annotations

from ullage.core.content import Message, Part
from ullage.evals.replay_words import RARE, WordIndex, words_of


def said(*texts: str) -> frozenset[str]:
    return words_of(Message(role="assistant", parts=tuple(Part(kind="text", text=text) for text in texts)))


def test_words_are_longer_names_paths_and_numbers() -> None:
    assert said("In src/app.py line 12: the parse_args failed (0x7f3a21)!") == {
        "src/app.py",
        "parse_args",
        "failed",
        "0x7f3a21",
    }


def test_results_inside_parts_count_and_thinking_does_not() -> None:
    inner = Part(kind="text", text="nested-words")
    message = Message(
        role="tool",
        parts=(Part(kind="tool_result", parts=(inner,)), Part(kind="thinking", text="secret-thought")),
    )
    assert words_of(message) == {"nested-words"}


def test_a_word_is_taken_from_the_newest_message_that_has_it() -> None:
    messages = [said("config.toml"), said("other words here"), said("config.toml")]
    assert WordIndex().sources(said("edit config.toml"), messages) == {2: 1}


def test_a_word_that_stands_everywhere_tells_nothing() -> None:
    messages = [said("config.toml")] * (RARE + 1)
    assert WordIndex().sources(said("config.toml"), messages) == {}
    assert WordIndex().sources(said("config.toml"), messages[:RARE]) == {RARE - 1: 1}


def test_words_of_nowhere_are_the_model_s_own() -> None:
    assert WordIndex().sources(said("a brand-new idea"), [said("config.toml")]) == {}


def test_the_next_request_adds_to_what_is_known_and_another_branch_begins_anew() -> None:
    index = WordIndex()
    first, second, other = said("alpha-file"), said("beta-file"), said("alpha-file too")
    assert index.sources(said("beta-file"), [first]) == {}
    assert index.sources(said("beta-file"), [first, second]) == {1: 1}
    assert index.sources(said("alpha-file beta-file"), [other]) == {0: 1}
