"""Answers to `/auto-model …` that are more than a command of ours: those choose among the models that Pi offers."""

from __future__ import annotations

import contextlib
import re
import time
from collections import Counter
from typing import TYPE_CHECKING

import msgspec

from ullage.cli.records import print_lines
from ullage.core.errors import CallError
from ullage.core.terminal import safe

if TYPE_CHECKING:
    from ullage.core.routing.filtering import Candidate
    from ullage.core.routing.route import RouteConfig

    from .asked import Asked

_MOST_DECISIONS = "50"
_FORMATS = ("json", "jsonl")
_FOLDER = "exports"
_NO_NAME = re.compile(r"[^A-Za-z0-9._-]")
_NAME_CHARS = 100


def run(asked: Asked, *arguments: str) -> int:
    """Runs a command of ours that may ask whom there is to choose among."""
    from ullage.cli import answer
    from ullage.cli.auto.place import offering, selected

    with contextlib.ExitStack() as held:
        held.enter_context(selected("" if asked.is_routed else asked.model))
        if asked.host.models:
            held.enter_context(offering(lambda config: candidates(asked, config)))
        return answer(list(arguments))


def steer(asked: Asked, *arguments: str) -> int:
    """Sets something for the routes of the session; where its user has selected a model, that nothing is routed is told."""
    status = run(asked, *arguments)
    if status == 0 and asked.words and not asked.is_routed and asked.model:
        print_lines([safe(f"Nothing is routed while {asked.model} is selected: /auto-model on lets ullage choose.")])
    return status


def candidates(asked: Asked, config: RouteConfig) -> tuple[Candidate, ...]:
    """Pi's models as the router weighs them. Raises `CallError` for models in a shape that is not known."""
    from ullage.pi.asking import Model
    from ullage.pi.candidates import PiTargets

    try:
        models = msgspec.convert(asked.host.models, tuple[Model, ...])
    except msgspec.ValidationError as error:
        raise CallError(
            f"Pi's models cannot be read: {error}.", hint="`ullage pi install` puts the extension in place that fits."
        ) from error
    targets = PiTargets(models, config)
    return targets.candidates(targets.dialect, client_key=True)


def show_doctor(asked: Asked) -> int:
    """Everything that routes go by; what Pi speaks with its models, and who asks again when one fails."""
    status = run(asked, "auto", "doctor", *asked.passed(), *asked.of_session)
    if not asked.has("json") and asked.host.models:
        spoken = Counter(str(model.get("api") or "unknown") for model in asked.host.models)
        apis = ", ".join(f"{api} ({number})" for api, number in spoken.most_common())
        hook = "Pi, which asks for another target when it repeats a request"
        if not asked.host.apis.get("registerVirtualModel"):
            hook = "ullage, within the same request, until something of an answer was shown"
        print_lines(["", safe(f"apis        {apis}"), f"retries     {hook}"])
    return status


def set_mode(asked: Asked) -> int:
    """The policy of this session, which is saved as that of all others, too; without a word, which one holds."""
    if not asked.words:
        return run(asked, "auto", "mode", *asked.of_session)
    failed = run(asked, "auto", "mode", "--default", "--", *asked.words)
    return failed or steer(asked, "auto", "mode", *asked.of_session, "--", *asked.words)


def show_history(asked: Asked) -> int:
    """The newest decisions of all sessions, or with `session` of this one."""
    if asked.words not in ((), ("session",)):
        raise CallError("Write /auto-model history [session].", hint="Without a word it lists those of all sessions.")
    return run(asked, "history", "--limit", _MOST_DECISIONS, *(asked.of_session if asked.words else ()))


def write_export(asked: Asked) -> int:
    """Writes the calls of the session into a file of the data folder; what is printed names it."""
    from ullage.settings import load_settings
    from ullage.stores.files import make_folder

    form = asked.words[0] if asked.words else "jsonl"
    if form not in _FORMATS:
        raise CallError(f"There is no format {form[:40]!r} here.", hint="Write json or jsonl.")
    folder = load_settings().paths.data_dir / _FOLDER
    make_folder(folder)
    when = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
    whose = _NO_NAME.sub("-", asked.session)[:_NAME_CHARS] or "calls"  # a session's file may name it as it likes
    file = folder / f"{whose}-{when}.{form}"
    return run(asked, "export", "calls", "--format", form, "--out", str(file), *asked.of_session)


def vote(asked: Asked) -> int:
    """`good|bad [target] [reason]`: a target has a slash, what follows is the reason."""
    verdict, *more = asked.text.split()
    target = [more.pop(0)] if more and "/" in more[0] else []
    reason = ["--reason", " ".join(more)] if more else []
    return run(asked, "feedback", *reason, *asked.of_session, "--", verdict, *target)
