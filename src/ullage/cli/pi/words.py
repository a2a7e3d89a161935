"""The two lists of commands of Pi, as calls of ours: each row gives the arguments of `ullage`, or prints and gives a status."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

from ullage.core.errors import CallError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class Asked(Struct, frozen=True, kw_only=True):
    """What was typed, by whom: the `session` in Pi, the `model` that it is at."""

    session: str
    model: str
    words: tuple[str, ...]

    @property
    def rest(self) -> tuple[str, ...]:
        """What follows the first word."""
        return self.words[1:]

    @property
    def of_session(self) -> tuple[str, ...]:
        """The option that names the session."""
        return ("--session", self.session) if self.session else ()


def _auto(asked: Asked) -> Sequence[str]:
    return ("auto", *asked.words, *asked.of_session)


def _plain(*arguments: str) -> Callable[[Asked], Sequence[str]]:
    return lambda asked: (*arguments, *asked.rest)


def _for_session(*arguments: str) -> Callable[[Asked], Sequence[str]]:
    return lambda asked: (*arguments, *asked.rest, *asked.of_session)


def _pin(asked: Asked) -> Sequence[str]:
    """`--classification` is Pi's word for `--class`; all that is no option is the text."""
    options: list[str] = []
    text: list[str] = []
    words = iter(asked.rest)
    for word in words:
        if not word.startswith("--"):
            text.append(word)
            continue
        name, has_value, value = word.partition("=")
        options += [{"--classification": "--class"}.get(name, name), value if has_value else next(words, "")]
    return ("pin", "add", *asked.of_session, *options, "--", " ".join(text))


def _unpin(asked: Asked) -> Sequence[str]:
    return ("pin", "remove", *asked.rest[:1])


def _auto_feedback(asked: Asked) -> Sequence[str]:
    """`feedback good|bad [target] [reason]`: a target has a slash, what follows is the reason."""
    verdict, *more = asked.rest or ("",)
    target = [more.pop(0)] if more and "/" in more[0] else []
    reason = ["--reason", " ".join(more)] if more else []
    return ("feedback", verdict, *target, *reason, *asked.of_session)


def _export(asked: Asked) -> Sequence[str]:
    return ("export", "calls", "--format", asked.rest[0] if asked.rest else "jsonl", *asked.of_session)


def _prompt(asked: Asked) -> Sequence[str]:
    return ("auto", "plan", " ".join(asked.rest), *asked.of_session)


def _thinking(asked: Asked) -> Sequence[str]:
    words = [word for word in asked.rest if word != "fixed"]
    return ("auto", "thinking", *words, *asked.of_session)


def _model(asked: Asked) -> Sequence[str]:
    return ("model", *(asked.rest or ((asked.model,) if asked.model else ())))


def _config(asked: Asked) -> Sequence[str]:
    if asked.rest[:1] in ((), ("show",)):
        return ("config", "show", "--sources")
    raise CallError("Settings are changed in their file.", hint="`/context config show` says which file holds what.")


def _newest(command: str) -> Callable[[Asked], Sequence[str]]:
    def row(asked: Asked) -> Sequence[str]:
        from .records import newest_call

        return (command, *(asked.rest or (newest_call(asked.session).id,)))

    return row


def _screen(name: str) -> Callable[[Asked], int]:
    def row(asked: Asked) -> int:
        from . import records

        show: Callable[[Asked], int] = getattr(records, name)
        return show(asked)

    return row


CONTEXT: dict[str, Any] = {
    "status": _screen("show_status"),
    "tokens": _screen("show_tokens"),
    "model": _model,
    "manifest": _newest("manifest"),
    "explain": _newest("why"),
    "included": _screen("show_included"),
    "excluded": _screen("show_excluded"),
    "pins": _for_session("pin", "list"),
    "pin": _pin,
    "unpin": _unpin,
    "memory": _plain("memory"),
    "privacy": _screen("show_privacy"),
    "artifacts": _screen("show_artifacts"),
    "metrics": _plain("metrics"),
    "storage": _plain("db", "check"),
    "health": _plain("doctor"),
    "config": _config,
}
"""What follows `/context`."""

AUTO_MODEL: dict[str, Any] = {
    **dict.fromkeys(("on", "off", "status", "why", "task", "pool", "rules", "mode", "pin", "unpin"), _auto),
    "models": _screen("show_models"),
    "providers": _screen("show_providers"),
    "plan": _prompt,
    "thinking": _thinking,
    "history": _for_session("history"),
    "metrics": _plain("auto", "metrics"),
    "doctor": _plain("auto", "doctor"),
    "quota": _plain("quota"),
    "budget": _plain("budget"),
    "outcome": _for_session("outcome"),
    "feedback": _auto_feedback,
    "export": _export,
}
"""What follows `/auto-model`."""
