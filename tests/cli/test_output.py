"""How commands print JSON: nothing in it drives a terminal, and it is the same JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest

from ullage.cli.output import print_json, print_json_line

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

STEERING = [*map(chr, range(0x20)), *map(chr, range(0x7F, 0xA0)), *"\u061c\u200e\u200f\u202a\u202e\u2066\u2069"]


@pytest.mark.parametrize("show", [print_json, print_json_line])
def test_what_steers_a_terminal_is_escaped(show: Callable[[Any], None], capsys: pytest.CaptureFixture[str]) -> None:
    value = {f"{sign}key": f"a{sign}b" for sign in STEERING}
    show(value)
    out = capsys.readouterr().out
    assert not set(out) & {*STEERING} - {"\n"}
    assert msgspec.json.decode(out) == value


def test_letters_of_every_script_stay_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    print_json_line({"name": "Ümläut 漢字 🦊 عربي"})
    assert capsys.readouterr().out == '{"name":"Ümläut 漢字 🦊 عربي"}\n'
