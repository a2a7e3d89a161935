"""Searching and reading the large tool results that were kept of a project."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ullage.core.errors import CallError, InputError
from ullage.core.evidence.lookup import LINES, find_matches
from ullage.core.evidence.outputs import is_binary

from .answers import DATA_NOTE, fit, lines_answer

if TYPE_CHECKING:
    from collections.abc import Callable

    from ullage.core.evidence.artifacts import ArtifactCaps
    from ullage.sources.artifacts import ArtifactFiles
    from ullage.stores.base import ArtifactRecord

    from .project import Clear

SHORTEST_ID = 8
_ADDRESS = re.compile(r"(?:artifact://sha256/)?([0-9a-f]{64})")
_ID = re.compile(r"[0-9a-f]{8,32}")


class ArtifactTools:
    """`find` gives the records of the project whose ids begin with a prefix, the one used last first."""

    def __init__(
        self,
        *,
        files: ArtifactFiles,
        find: Callable[[str], list[ArtifactRecord]],
        caps: ArtifactCaps,
        clear: Clear,
    ) -> None:
        self._files = files
        self._find = find
        self._caps = caps
        self._clear = clear

    def search(self, id: str, query: str, max_matches: int | None = None) -> str:  # noqa: A002 - the word of the reference
        """Where a phrase stands in an artifact, in whatever case, with what stands around it."""
        text = self.text(id)
        most = min(max(1, max_matches or self._caps.matches), self._caps.matches)

        def answer(chars: int) -> dict[str, Any]:
            found = find_matches(text, query, most=most, chars=chars)
            return {
                "artifact": id,
                "found": found.total,
                "shown": len(found.matches),
                "note": DATA_NOTE,
                "matches": [{"line": match.line, "text": match.excerpt} for match in found.matches],
            }

        return fit(answer, self._caps.inline_chars)

    def read(self, id: str, line: int = 1, lines: int = LINES) -> str:  # noqa: A002 - as above
        """Some lines of an artifact."""
        return lines_answer({"artifact": id}, self.text(id), line, lines, self._caps.inline_chars)

    def text(self, name: str) -> str:
        """The whole text of an artifact as it may be told. Raises `CallError`, `InputError` or `StoreError`."""
        data = self._files.read(self._digest_of(name.strip().lower()), most_bytes=self._caps.search_bytes)
        text = data.decode("utf-8", "replace")
        if is_binary(text):
            raise InputError(
                f"Artifact {name} is data for machines.",
                hint="Neither its lines nor a phrase would tell you anything.",
                code="binary_artifact",
            )
        return self._clear(text)

    def _digest_of(self, name: str) -> str:
        if address := _ADDRESS.fullmatch(name):
            return address[1]
        if not _ID.fullmatch(name):
            raise CallError(
                f"{name[:80]!r} is no artifact id.",
                hint=f"Copy it from a reference: the `artifact id`, its first {SHORTEST_ID} digits or more.",
                code="bad_artifact_id",
            )
        digests = {record.sha256 for record in self._find(name)}
        if not digests:
            raise InputError(
                f"This project has no artifact {name}.",
                hint="Use the id of a reference in this conversation.",
                code="no_artifact",
            )
        if len(digests) > 1:
            raise CallError(
                f"Several artifacts begin with {name}.", hint="Give more digits of the id.", code="ambiguous_id"
            )
        return digests.pop()
