"""Lines of TOML keys, in every way a key can be written."""

from __future__ import annotations

from ullage.settings.toml_file import parse_toml

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
