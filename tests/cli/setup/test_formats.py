"""Small edits of other programs' files: what is not ours keeps its bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.cli.setup.formats import FORMATS, UnfitError

if TYPE_CHECKING:
    from ullage.cli.setup.formats import Key

JSON, TOML, YAML, DOTENV = (FORMATS[name] for name in ("json", "toml", "yaml", "dotenv"))


@pytest.mark.parametrize(
    ("before", "key", "after"),
    [
        ("", ("a",), '{\n  "a": "x"\n}\n'),
        ("{}", ("a", "b"), '{\n  "a": {\n    "b": "x"\n  }\n}'),
        ('{"k": 1}', ("a", "b"), '{"k": 1, "a": {"b": "x"}}'),
        ('{\n\t"k": [1,2]\n}\n', ("a", "b"), '{\n\t"k": [1,2],\n\t"a": {\n\t\t"b": "x"\n\t}\n}\n'),
        ('{\r\n    "k": 1\r\n}', ("a",), '{\r\n    "k": 1,\r\n    "a": "x"\r\n}'),
        ('{\n  "a": {\n    "b": 1\n  },\n  "z": 1e3\n}', ("a", "b"), '{\n  "a": {\n    "b": "x"\n  },\n  "z": 1e3\n}'),
        ('{\n  "a": {},\n  "z": 2\n}', ("a", "b"), '{\n  "a": {\n    "b": "x"\n  },\n  "z": 2\n}'),
        ('\ufeff{"a": 1}', ("a",), '\ufeff{"a": "x"}'),
        ('{"a": 1, "a": 2}', ("a",), '{"a": 1, "a": "x"}'),
    ],
)
def test_json_is_changed_at_one_place(before: str, key: Key, after: str) -> None:
    assert JSON.put(before, key, '"x"') == after


@pytest.mark.parametrize(
    ("before", "key", "keep", "after"),
    [
        ('{\n  "a": 1,\n  "b": 2,\n  "c": 3\n}', ("a",), 0, '{\n  "b": 2,\n  "c": 3\n}'),
        ('{\n  "a": 1,\n  "b": 2,\n  "c": 3\n}', ("b",), 0, '{\n  "a": 1,\n  "c": 3\n}'),
        ('{\n  "a": 1,\n  "b": 2,\n  "c": 3\n}', ("c",), 0, '{\n  "a": 1,\n  "b": 2\n}'),
        ('{"a": {"b": {"c": 1}}, "z": 1}', ("a", "b", "c"), 0, '{"z": 1}'),
        ('{"a": {"b": {"c": 1}}, "z": 1}', ("a", "b", "c"), 1, '{"a": {}, "z": 1}'),
        ('{"a": {"b": {"c": 1}, "y": 1}}', ("a", "b", "c"), 0, '{"a": {"y": 1}}'),
        ('{"a": 1}', ("b", "c"), 0, '{"a": 1}'),
    ],
)
def test_json_loses_a_key_and_the_parents_made_for_it(before: str, key: Key, keep: int, after: str) -> None:
    assert JSON.remove(before, key, keep) == after


@pytest.mark.parametrize(
    ("text", "said", "line"),
    [
        ('{\n  // why\n  "a": 1\n}', "has comments or trailing commas, which an edit could not keep", 2),
        ('{\n  "a": 1,\n}', "has comments or trailing commas, which an edit could not keep", 3),
        ('{\n  "a": 1 /* b */\n}', "has comments or trailing commas, which an edit could not keep", 2),
        ('{\n  "a": \n}', "is not valid JSON", 3),
        ('{"a": 1} x', "is not valid JSON", 1),
        ('{"a": "//"', "is not valid JSON", 1),
        ('{"a": ' + "[" * 100_000, "is not valid JSON", 1),
    ],
    ids=["comment", "trailing comma", "block comment", "no value", "more", "cut", "deep"],
)
def test_json_that_is_broken_or_not_strict_is_told_with_its_line(text: str, said: str, line: int) -> None:
    with pytest.raises(UnfitError) as caught:
        JSON.put(text, ("b",), "1")
    assert (str(caught.value), caught.value.line) == (said, line)


def test_json_that_is_no_object_at_all_is_refused() -> None:
    with pytest.raises(UnfitError, match="the file is not an object"):
        JSON.put("[1]", ("b",), "1")


def test_json_with_something_else_in_the_place_of_an_object_is_refused() -> None:
    with pytest.raises(UnfitError, match="env is not an object"):
        JSON.put('{"env": []}', ("env", "A"), "1")


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(
    data=st.dictionaries(st.text(max_size=3), VALUES, max_size=4),
    indent=st.sampled_from([-1, 0, 2, 4]),
    key=st.lists(st.text(max_size=3), min_size=1, max_size=3).map(tuple),
)
def test_a_key_put_into_any_json_and_taken_out_again_leaves_the_same_data(
    data: dict[str, object], indent: int, key: Key
) -> None:
    text = msgspec.json.format(msgspec.json.encode(data), indent=indent).decode()
    try:
        before, kept = JSON.find(text, key), JSON.depth(text, key)
        put = JSON.put(text, key, '"new"')
    except UnfitError as error:
        assert "is not an object" in str(error)
        return
    assert JSON.find(put, key) == '"new"'
    back = JSON.put(put, key, before) if before is not None else JSON.remove(put, key, kept)
    assert msgspec.json.decode(back) == data
    if before is not None:
        assert back == text


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", 'k = "x"\n'),
        ("# c\n[t]\na = 1\n", 'k = "x"\n\n# c\n[t]\na = 1\n'),
        ("a = 1 # c\n\n[t]\n", 'a = 1 # c\nk = "x"\n\n[t]\n'),
        ("a = [\n 1,\n]\n[t]\nk = 2\n", 'a = [\n 1,\n]\nk = "x"\n[t]\nk = 2\n'),
        ("a = 1", 'a = 1\nk = "x"\n'),
        ("k = 'old' # why\n[t]\n", 'k = "x" # why\n[t]\n'),
        ('"k"="""\nold\n"""\n', '"k"="x"\n'),
        ("a = 1\r\nk = 1\r\n", 'a = 1\r\nk = "x"\r\n'),
    ],
)
def test_toml_is_changed_at_one_line(before: str, after: str) -> None:
    assert TOML.put(before, ("k",), '"x"') == after
    assert TOML.value(TOML.find(after, ("k",)) or "") == "x"


def test_toml_loses_one_line() -> None:
    assert TOML.remove("a = 1\nk = 2 # c\n\n[t]\nk = 3\n", ("k",), 0) == "a = 1\n\n[t]\nk = 3\n"
    assert TOML.remove("a = 1\n", ("k",), 0) == "a = 1\n"


def test_toml_that_is_broken_or_has_a_table_there_is_refused() -> None:
    with pytest.raises(UnfitError, match="is not TOML") as caught:
        TOML.put("a = 1\nb =\n", ("k",), "1")
    assert caught.value.line == 2
    with pytest.raises(UnfitError, match="k is a table"):
        TOML.put("k.a = 1\n", ("k",), "1")


@pytest.mark.parametrize(
    ("before", "key", "after"),
    [
        ("", ("k",), "k: x\n"),
        ("# k: 1\na: 1", ("k",), "# k: 1\na: 1\nk: x\n"),
        ("a: 1\nk: 'old'  # why\nb: 2\n", ("k",), "a: 1\nk: x  # why\nb: 2\n"),
        ("", ("l", "N"), "l:\n  - N=x\n"),
        ("l:\n- A=1\n# c\n- N=old # why\n\nb: 2\n", ("l", "N"), "l:\n- A=1\n# c\n- N=x # why\n\nb: 2\n"),
        ("l:\n    - A=1\nb: 2\n", ("l", "N"), "l:\n    - A=1\n    - N=x\nb: 2\n"),
        ("l: # none yet\nb: 2\n", ("l", "N"), "l: # none yet\n  - N=x\nb: 2\n"),
        ("l:\r\n  - A=1\r\n", ("l", "N"), "l:\r\n  - A=1\r\n  - N=x\r\n"),
        ('l:\n  - "N=old"\n', ("l", "N"), 'l:\n  - "N=x"\n'),
    ],
)
def test_yaml_is_changed_at_one_line(before: str, key: Key, after: str) -> None:
    assert YAML.put(before, key, "x") == after
    assert YAML.find(after, key) == "x"


@pytest.mark.parametrize(
    ("before", "key", "keep", "after"),
    [
        ("a: 1\nk: x\n", ("k",), 0, "a: 1\n"),
        ("a: 1\nl:\n  - N=x\n", ("l", "N"), 0, "a: 1\n"),
        ("a: 1\nl:\n  - N=x\n", ("l", "N"), 1, "a: 1\nl:\n"),
        ("l:\n  - A=1\n  - N=x\n", ("l", "N"), 0, "l:\n  - A=1\n"),
        ("a: 1\n", ("k",), 0, "a: 1\n"),
    ],
)
def test_yaml_loses_a_line_and_the_list_made_for_it(before: str, key: Key, keep: int, after: str) -> None:
    assert YAML.remove(before, key, keep) == after


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("{a: 1}\n", ("k",)),
        ("a: 1\n\tb: 2\n", ("k",)),
        ("just words\n", ("k",)),
        ("k: |\n  long\n", ("k",)),
        ("k: one\n  two\n", ("k",)),
        ("l: [A=1]\n", ("l", "N")),
        ("l: A=1\n", ("l", "N")),
    ],
)
def test_yaml_of_another_kind_is_refused(text: str, key: Key) -> None:
    with pytest.raises(UnfitError):
        YAML.put(text, key, "x")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "K=x\n"),
        ("A=1", "A=1\nK=x\n"),
        ("# K=0\nexport K = old\nA=1\n", "# K=0\nexport K =x\nA=1\n"),
        ("K=1\nK=2\n", "K=1\nK=x\n"),
        ("A=1\r\nK=1\r\n", "A=1\r\nK=x\r\n"),
    ],
)
def test_dotenv_is_changed_at_one_line(before: str, after: str) -> None:
    assert DOTENV.put(before, ("K",), "x") == after
    assert DOTENV.find(after, ("K",)) == "x"


def test_dotenv_values_may_be_quoted_and_commented() -> None:
    assert [DOTENV.value(source) for source in ("x", '"x"', "'x' # c", "x # c")] == ["x"] * 4


def test_dotenv_loses_one_line() -> None:
    assert DOTENV.remove("A=1\nK=x\nB=2\n", ("K",), 0) == "A=1\nB=2\n"
    assert DOTENV.remove("A=1\n", ("K",), 0) == "A=1\n"
