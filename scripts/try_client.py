#!/usr/bin/env python3
"""Try one real client: one prompt, with a tool call, through the gateway to the fake provider.

    scripts/try_client.py claude-code|codex|pi|opencode|gemini-cli|aider|llm [--managed | --routed | --translated DIALECT]

Needs `scripts/clients/install` once. The client runs unmodified in a home folder of its own and
is pointed at the gateway by `ullage setup CLIENT --write`; no key, no network. Prints what
`ullage sessions` and `ullage context` say, then what was checked. Exit status 1: a check failed;
2: the trial could not be made.

With --managed: three prompts through a gateway in managed mode, in a window so small that something
has to be left out, to a provider as strict as real ones. With --routed: two prompts for
`ullage/auto`, with three models to choose from. With --translated: the same from a provider that
speaks this protocol and no other, and is as strict as real ones; `all` for one after the other.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

from clients.known import CLIENTS
from clients.managed import run_managed
from clients.routed import SPOKEN, run_routed
from clients.trial import Trial, TrialError, run_trial


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("client", choices=CLIENTS)
    parser.add_argument("--keep", action="store_true", help="keep the folder of the trial, and say where it is")
    parser.add_argument("--record", type=Path, help="write what the provider received to this folder")
    parser.add_argument(
        "--direct", action="store_true", help="leave the gateway out: what does the client do without it?"
    )
    parser.add_argument("--managed", action="store_true", help="managed mode, in a window that is too small")
    parser.add_argument("--routed", action="store_true", help="ask for ullage/auto, with three models to choose from")
    parser.add_argument(
        "--translated", choices=[*SPOKEN, "all"], help="the same, from a provider that speaks this protocol alone"
    )
    options = parser.parse_args()
    return max([try_once(options, dialect) for dialect in dialects_of(options)])


def dialects_of(options: argparse.Namespace) -> list[str | None]:
    if options.translated != "all":
        return [options.translated]
    # Of a session that is taken up again Gemini CLI sends a result twice, which Gemini refuses, gateway or not.
    return [dialect for dialect in SPOKEN if (options.client, dialect) != ("gemini-cli", "gemini")]


def try_once(options: argparse.Namespace, dialect: str | None) -> int:
    trial = Trial(CLIENTS[options.client], Path(tempfile.mkdtemp(prefix="ullage-trial-")))
    if dialect is not None:
        print(f"== a provider that speaks {dialect}")
    try:
        if options.managed:
            run_managed(trial, record=options.record)
        elif options.routed or dialect is not None:
            run_routed(trial, record=options.record, dialect=dialect)
        else:
            run_trial(trial, record=options.record, direct=options.direct)
    except TrialError as error:
        print(f"try_client: {error}", file=sys.stderr)
        return 2
    finally:
        show(trial)
        if options.keep:
            print(f"kept: {trial.folder}")
        else:
            shutil.rmtree(trial.folder, ignore_errors=True)
    return 0 if all(check.passed for check in trial.checks) else 1


def show(trial: Trial) -> None:
    for title, text in trial.screens.items():
        print(f"$ {title}\n{text}")
    for check in trial.checks:
        print(check)


if __name__ == "__main__":
    sys.exit(main())
