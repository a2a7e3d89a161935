"""What the readers of all dialects share: parts in sequence, usage, and an end that is never made up."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ullage.core.translation.answers.events import AnswerEnd, AnswerStart, Failure, PartStart
from ullage.core.translation.answers.sequence import Sequence
from ullage.core.translation.errors import read_failure
from ullage.core.translation.nouns import Seal
from ullage.core.translation.sealing import family_of

if TYPE_CHECKING:
    from ullage.core.content import StopReason, Usage
    from ullage.core.translation.answers.events import Event, PartKind
    from ullage.core.translation.losses import Losses
    from ullage.core.wire import Dialect

_ID_LEAD = re.compile(r"^(?:chatcmpl-|msg_|resp_)")
INCOMPLETE = "The provider's answer ended before it was complete."


def as_index(value: Any, default: int | None = None) -> int | None:
    """A number by which parts are told apart; anything else tells none apart."""
    return value if isinstance(value, int) else default


class Reader:
    """Reads one answer. `dialect` modules say what an event means, and call what is below."""

    dialect: Dialect

    def __init__(self, model: str, answer_id: str, losses: Losses) -> None:
        self.losses = losses
        self.sequence = Sequence()
        self.usage: Usage | None = None
        self.stop: StopReason | None = None
        self.stop_sequence: str | None = None
        self.failure: Failure | None = None
        self.ended = False
        self._model = model
        self._id = answer_id
        self._started = False
        self._made_ids = 0

    def read_event(self, name: str | None, payload: dict[str, Any]) -> None:
        """One decoded event of a stream."""
        raise NotImplementedError

    def read_body(self, payload: dict[str, Any]) -> None:
        """One decoded body."""
        raise NotImplementedError

    def read_done(self) -> None:
        """The `[DONE]` of Chat Completions."""

    def finish(self) -> None:
        """The stream is over, or the body read: what was not ended by now never will be."""
        self.end()
        if not self.ended and self.failure is None:
            self.fail(Failure(kind="server", message=INCOMPLETE, status=502))

    def take(self) -> list[Event]:
        """The events that are due."""
        return self.sequence.take()

    def start(self, answer_id: Any = None, model: Any = None, usage: Usage | None = None) -> None:
        """Begins the answer, once."""
        if self._started:
            return
        self._started = True
        self._id = _ID_LEAD.sub("", answer_id) if isinstance(answer_id, str) and answer_id else self._id
        self._model = model if isinstance(model, str) and model else self._model
        self.sequence.events.append(AnswerStart(id=self._id, model=self._model, usage=usage))

    def open(self, key: Any, kind: PartKind, *, id_: Any = "", name: Any = "", custom: bool = False) -> None:
        """Begins a part. A call without an id gets one that no other answer has."""
        self.start()
        given = id_ if isinstance(id_, str) else ""
        if kind == "call" and not given and key not in self.sequence:
            self._made_ids += 1
            given = f"call_{self._id}_{self._made_ids}"
        named = name if isinstance(name, str) else ""
        self.sequence.open(key, PartStart(kind=kind, id=given, name=named, custom=custom))

    def say(self, key: Any, kind: PartKind, text: Any) -> None:
        """More of a part that is no call; it begins by itself."""
        if isinstance(text, str) and text:
            if key not in self.sequence:
                self.open(key, kind)
            self.sequence.add(key, text)

    def seal(self, data: Any = "", item_id: str = "") -> Seal:
        """The seal of reasoning of this answer; without data it says who thought."""
        text = data if isinstance(data, str) else ""
        return Seal(owner=self.dialect, data=text, family=family_of(self._model), id=item_id)

    def end(self) -> None:
        """Ends the answer if it has a reason to: once, and not after a failure."""
        if self.ended or self.failure is not None or self.stop is None:
            return
        if self.stop == "error":
            self.fail(Failure(kind="server", message="The provider could not finish its answer.", status=502))
            return
        self.start()
        self.sequence.close_all()
        stop = self.stop
        if stop in ("end", "tool_calls"):
            stop = "tool_calls" if self.sequence.calls else "end"
        self.ended = True
        self.sequence.events.append(AnswerEnd(stop=stop, stop_sequence=self.stop_sequence, usage=self.usage))

    def fail(self, error: Any, status: int = 0) -> None:
        """An error object of any dialect, or a failure. What came before stays as it is."""
        if self.failure is None and not self.ended:
            self.failure = error if isinstance(error, Failure) else read_failure(error, status)
            self.sequence.events.append(self.failure)

    def report(self, usage: Usage) -> None:
        """The usage as now reported; one without figures, or of zeros alone after others, says nothing."""
        if usage.total is not None and not (usage.total == 0 and self.usage is not None):
            self.usage = usage
