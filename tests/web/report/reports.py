"""Reports for tests of the page: a recorded session, and one made of hostile names."""

from __future__ import annotations

import copy
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import msgspec

from ullage.cli.context import make_report
from ullage.cli.context_input import Wishes, inspect

SESSION = Path(__file__).parents[2] / "golden" / "insights" / "session.in.jsonl"
HOSTILE = "</title></script><script>alert('x')</script><img src=x onerror=alert(1)>\u202e\x00\x1b[31m\"'&amp;\ud83d"


def report_of(path: Path = SESSION, **wishes: Any) -> dict[str, Any]:
    """What `--json` prints for a source."""
    report = make_report(inspect(str(path), Wishes(window=200_000, **wishes)))
    plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(report))
    return plain


def hostile_report() -> dict[str, Any]:
    """The report of the session with a hostile text wherever a name can stand."""
    return _poisoned(report_of(call=8))


def _poisoned(value: Any, key: str = "") -> Any:
    if isinstance(value, dict):
        return {key: _poisoned(member, key) for key, member in value.items()}
    if isinstance(value, list):
        return [_poisoned(member, key) for member in value]
    kept = ("id", "kind", "total_kind", "dialect", "events", "reason", "method", "code")
    return HOSTILE if isinstance(value, str) and key not in kept else copy.copy(value)


class Page(HTMLParser):
    """A page read back: its elements with their attributes and the text that stands directly in them."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self._open: list[int] = []
        self.feed(text)
        self.close()
        assert not self._open, f"not closed: {[self.elements[index][0] for index in self._open]}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self.texts.append("")
        if tag != "meta":  # a browser writes it without an end
            self._open.append(len(self.elements) - 1)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self.texts.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.elements[self._open.pop()][0] == tag

    def handle_data(self, data: str) -> None:
        if self._open:
            self.texts[self._open[-1]] += data

    def all(self, tag: str, **attributes: str) -> list[dict[str, str | None]]:
        """The attributes of the elements of that name that have these."""
        wanted = {key.replace("_", "-"): value for key, value in attributes.items()}
        return [found for name, found in self.elements if name == tag and wanted.items() <= found.items()]

    def with_data(self, tag: str, name: str) -> list[dict[str, str | None]]:
        """The elements of a name that carry a piece of data."""
        return [found for element, found in self.elements if element == tag and f"data-{name}" in found]

    def text(self, tag: str, **attributes: str) -> list[str]:
        """The texts of such elements."""
        wanted = {key.replace("_", "-"): value for key, value in attributes.items()}
        return [
            text
            for (name, found), text in zip(self.elements, self.texts, strict=True)
            if name == tag and wanted.items() <= found.items()
        ]
