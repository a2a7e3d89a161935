"""What of a prompt is only shown, not asked for: code, quotations and pasted logs (routing specification, section 4.5, no. 2)."""

from __future__ import annotations

import re

_FENCED = re.compile(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)", re.DOTALL)
_IN_LINE = re.compile(
    r'`[^`\n]{1,200}+`|"[^"\n]{1,300}+"|“[^”\n]{1,300}+”|„[^“”\n]{1,300}+[“”]|«[^»\n]{1,300}+»|「[^」\n]{1,300}+」'
)
# Lines quoted from elsewhere; of logs with a time or a level; of stack traces and compilers; of diffs.
_LINES = re.compile(
    r"""^[ \t]*+(?:
        >
      | \[?\d{4}-\d\d-\d\d[T\ ]\d\d:\d\d
      | \[?\d\d:\d\d:\d\d
      | \[(?:ERROR|WARN|WARNING|INFO|DEBUG|FATAL|TRACE)\]
      | (?:ERROR|WARN|WARNING|INFO|DEBUG|FATAL|TRACE)[ ]*[:|]
      | Traceback[ ]\(
      | File[ ]"
      | at[ ]\S{1,200}+[ ]?\(
      | [\w.]{1,80}+:[ ](?<=Error:[ ]|ption:[ ])
      | npm[ ]ERR
      | error\[
      | @@[ ]
      | diff[ ]--git
    ).*$""",
    re.MULTILINE | re.VERBOSE,
)


def without_quoted(prompt: str) -> str:
    """A prompt without what it only shows. Lines stay lines, so that what stood apart is not joined."""
    if "```" in prompt or "~~~" in prompt:
        prompt = _FENCED.sub("\n", prompt)
    return _IN_LINE.sub(" ", _LINES.sub("", prompt))
