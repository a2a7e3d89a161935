"""Lines of TOML keys, in every way a key can be written."""

from __future__ import annotations

import tomllib

from hypothesis import given
from hypothesis import strategies as st

from ullage.settings.toml_file import TomlError, flatten, parse_toml

TEXT = '''# a comment
top = 1
dotted.key = 2
"quoted.key" = 3

[table]
a = """
[not.a.table]
b = 1
"""
list = [
  1, # one
  2,
]
inline = { x = 1, y = { z = 2 } }
[table.below] # comment
c = true
[empty]
[[array]]
d = 1
'''


def test_every_value_has_the_line_its_statement_starts_on() -> None:
    assert [(entry.key, entry.line) for entry in parse_toml(TEXT)] == [
        ("top", 2),
        ("dotted.key", 3),
        ("quoted.key", 4),
        ("table.a", 7),
        ("table.list", 11),
        ("table.inline.x", 15),
        ("table.inline.y.z", 15),
        ("table.below.c", 17),
        ("empty", 18),
        ("array[].d", 20),
    ]


def test_a_text_without_values_has_no_entries() -> None:
    assert parse_toml("\n# nothing\n\n") == []


PIECES = st.sampled_from(
    [
        *"ab.=[]{}\"'#,1 \n\r\t",
        "[t]\n",
        "a = 1\n",
        'b = """\n',
        "'''\n",
        "x = [\n",
        "]\n",
        "k.l = {m = 1}\n",
        "true",
        "\\",
    ]
)


@given(st.lists(PIECES, max_size=14).map("".join))
def test_the_values_are_those_that_tomllib_reads(text: str) -> None:
    try:
        entries = parse_toml(text)
    except TomlError:
        return
    whole = dict(flatten(tomllib.loads(text)))
    found = {entry.key: entry.value for entry in entries if "[]" not in entry.key and entry.value != {}}
    assert found == {key: value for key, value in whole.items() if key in found}
    assert all(text.split("\n")[entry.line - 1].strip() for entry in entries)
    assert [entry.line for entry in entries] == sorted(entry.line for entry in entries)


def test_a_path_has_the_place_in_each_array_and_keeps_names_apart() -> None:
    text = '[[a]]\nx = 1\n[[a]]\n[a.b]\ny = 2\n[[a.c]]\n[[a.c]]\nz = 3\n["d.e".f]\ng = 4\n'
    assert [entry.path for entry in parse_toml(text)] == [
        ("a", 0, "x"),
        ("a", 1),
        ("a", 1, "b", "y"),
        ("a", 1, "c", 0),
        ("a", 1, "c", 1, "z"),
        ("d.e", "f", "g"),
    ]
