#!/usr/bin/env python3
"""Make a test fixture of recorded requests: same structure, none of the client maker's prose.

    scripts/clients/scrub.py OUT.json CLIENT VERSION NAME=RECORDING/request-3 ...

A recording is a folder that `python -m ullage.testing --record FOLDER` or `scripts/try_client.py
CLIENT --record FOLDER` wrote. Kept are keys, types, roles, names, ids, the wrappers around
instruction files and skill indexes, and every line with a mark of our own (`MARK-`). Every
other line of prose becomes `Placeholder xxxx.`, where xxxx follows from the line it
stands for: what was equal stays equal, what differed stays different.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from pathlib import Path
from typing import Any

MARK = re.compile(r"MARK-|FINAL ANSWER")
SHORT_CHARS = 24
"""Shorter lines are names, values and headings, and stay."""

# Literals that tests of recognition and of layouts look for: wrappers, titles, first words.
WRAPPERS = re.compile(
    r"""
    </?[a-z_-]+(\ \w+="[^"]*")*>\s*$ | </permissions\ instructions>   # a tag alone on its line
    | </?system-reminder>
    | \s*<(name|location|cwd|shell|current_date|timezone)>
    | Codebase\ and\ user\ instructions\ are\ shown\ below\.
    | Contents\ of\ /
    | The\ following\ skills\ (are\ available\ for\ use\ with\ the\ Skill\ tool:|provide\ specialized)
    | Skills\ provide\ specialized\ instructions\ and\ workflows
    | Instructions\ from:\ /
    | ---\ (End\ of\ )?Context\ from:|---\ (Newly|End)\ |---\ project-doc
    | <!--\ (Imported\ from|End\ of\ import)
    | \#\ (AGENTS\.md\ instructions|Project\ Context|Available\ Agent\ Skills|Contextual\ Instructions)
    | \#\#\ /
    | -\ `r\d+`\ =
    | Project-specific\ instructions\ and\ guidelines:
    | Current\ (date|working\ directory):|Today's\ date\ is
    | x-anthropic-billing-header:
    | You\ are\ (Claude\ Code,\ Anthropic|a\ Claude\ agent,\ built\ on)
    | Here\ are\ some\ READ\ ONLY\ files|Do\ not\ edit\ these\ files!
    | Generate\ a\ title\ for\ this\ conversation:
    | Base\ directory\ for\ this\ skill:
    """,
    re.VERBOSE,
)

# The first words of a text by which a client is known, and what may follow them on the line.
FIRST_WORDS = re.compile(
    r"You are a (title generator|coding assistant running inside pi|coding agent running in the Codex CLI)"
    r"|You are an expert coding assistant operating inside pi, a coding agent harness"
    r"|You are opencode|You are (an interactive|a non-interactive|Gemini CLI)|Act as an expert software developer"
    r"|Another language model started to solve this problem"
    r"|This session is being continued from a previous conversation"
)

XML_ENTRY = re.compile(r"(\s*<description>)(.*)(</description>)$")
SKILL_ENTRY = re.compile(r"(- [\w:.@/-]+: )(.*?)( \(file: [^)]*\))?$")
CODEX_PATH = re.compile(r"\(file: r\d+/[^)]*\)$")

# Where prose of the client's maker stands beside the texts: descriptions of tools and their parameters.
DESCRIPTIONS = {"description", "definition"}
AS_IT_CAME = {"metadata", "client_metadata"}
"""Top-level keys whose texts are JSON of ids."""

TOOLS_KEPT = 2
"""Of a request that is not the first on its path, so many tools are kept."""


def main() -> int:
    if len(sys.argv) < 5:
        print(__doc__, file=sys.stderr)
        return 2
    out, client, version, *pairs = sys.argv[1:]
    requests: list[dict[str, Any]] = []
    for pair in pairs:
        name, _, stem = pair.partition("=")
        whole = not any(request["dialect_path"] == path_of(stem) for request in requests)
        requests.append(scrub_request(name, stem, keep_tools=whole))
    for request in requests:
        del request["dialect_path"]
    fixture = {"client": client, "version": version, "requests": requests}
    Path(out).write_text(one_line_each(fixture), encoding="utf-8")
    return 0


def one_line_each(fixture: dict[str, Any]) -> str:
    """JSON with one line for each request: small, and a changed request is a changed line."""
    requests = fixture.pop("requests")
    head = json.dumps(fixture)[:-1]
    lines = ",\n".join(json.dumps(request, ensure_ascii=False, separators=(",", ":")) for request in requests)
    return f'{head}, "requests": [\n{lines}\n]}}\n'


def path_of(stem: str) -> str:
    target: str = json.loads(Path(f"{stem}.meta.json").read_bytes())["target"]
    return target.partition("?")[0].partition("/models/")[0]


def scrub_request(name: str, stem: str, *, keep_tools: bool) -> dict[str, Any]:
    meta = json.loads(Path(f"{stem}.meta.json").read_bytes())
    raw = Path(f"{stem}.json").read_bytes()
    body = scrub_body(json.loads(raw)) if raw else None
    if body and body.get("tools") and not keep_tools:
        body["tools"] = fewer_tools(body["tools"])
    return {
        "name": name,
        "dialect_path": path_of(stem),
        "method": meta["method"],
        "target": meta["target"],
        "headers": [[key, neutral(value)] for key, value in meta["headers"]],
        "body": body,
    }


def scrub_body(body: dict[str, Any]) -> dict[str, Any]:
    ids = {key: json.loads(neutral(json.dumps(body[key]))) for key in AS_IT_CAME & body.keys()}
    return {key: ids.get(key) or scrub_value(value, key) for key, value in body.items()}


def fewer_tools(tools: list[dict[str, Any]]) -> list[dict[str, Any]]:
    declared = tools[0].get("functionDeclarations")
    if declared:
        return [{**tools[0], "functionDeclarations": declared[:TOOLS_KEPT]}]
    return tools[:TOOLS_KEPT]


def scrub_value(value: Any, key: str) -> Any:
    if isinstance(value, dict):
        return {name: scrub_value(inner, name) for name, inner in value.items()}
    if isinstance(value, list):
        return [scrub_value(inner, key) for inner in value]
    if isinstance(value, str):
        return scrub_description(value) if key in DESCRIPTIONS else scrub_text(value)
    return value


def scrub_description(text: str) -> str:
    return text if len(text) <= SHORT_CHARS else placeholder(text)


def scrub_text(text: str) -> str:
    """Line by line; neighbouring placeholders become one, so that the fixture stays small."""
    lines: list[str] = []
    for index, line in enumerate(neutral(text).split("\n")):
        kept = scrub_line(line, first=index == 0)
        if not (kept.startswith("Placeholder") and after_placeholder(lines)):
            lines.append(kept)
    return "\n".join(lines)


def after_placeholder(lines: list[str]) -> bool:
    """Whether the last line is a placeholder, blank lines aside: those are then dropped with what follows them."""
    last = next((line for line in reversed(lines) if line), "")
    if not last.startswith("Placeholder"):
        return False
    while not lines[-1]:
        lines.pop()
    return True


def scrub_line(line: str, *, first: bool) -> str:
    if MARK.search(line) or WRAPPERS.match(line) or len(line) <= SHORT_CHARS:
        return shorten_wrapper(line)
    if (words := FIRST_WORDS.match(line)) and first:
        return f"{words.group(0)} {placeholder(line)}"
    if entry := XML_ENTRY.match(line):
        return entry.group(1) + placeholder(entry.group(2)) + entry.group(3)
    if entry := SKILL_ENTRY.match(line):
        return entry.group(1) + placeholder(entry.group(2)) + (entry.group(3) or "")
    return placeholder(line)


def shorten_wrapper(line: str) -> str:
    """Of the sentence that opens Claude Code's instruction block only the part that tells it apart."""
    opening = "Codebase and user instructions are shown below."
    return f"{opening} {placeholder(line)}" if line.startswith(opening) else line


def placeholder(text: str) -> str:
    return f"Placeholder {hashlib.sha256(text.encode()).hexdigest()[:4]}."


def neutral(text: str) -> str:
    """Folders of the machine that recorded give way to those of nobody in particular."""
    text = re.sub(r"/[\w./-]*/ullage-trial-\w+/home", "/home/user", text)
    text = re.sub(r"/[\w./-]*/ullage-trial-\w+/project", "/home/user/project", text)
    text = re.sub(r"/[\w./-]*?/\.?clients/node_modules", "/usr/lib/node_modules", text)
    text = re.sub(r"(device_id\\?\": ?\\?\")[0-9a-f]{64}", r"\g<1>" + "0" * 64, text)
    return re.sub(r"Debian [\d.]+", "Debian 12.0.0", text)


if __name__ == "__main__":
    sys.exit(main())
