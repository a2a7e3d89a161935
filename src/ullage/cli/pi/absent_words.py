"""What follows `/context` of what ullage does not do: each says so in a sentence, as figures of it would be made up."""

from __future__ import annotations

from .asked import Group, Row, Table
from .calls import told

_NO_RETRIEVAL = (
    "Nothing is retrieved into requests in this version of ullage: what leaves a request comes back by pins, memory and"
    " references to long tool results alone."
)
_LOOK_BACK = "`/context history search WORDS` looks through what was said before, as the model can by `ullage mcp`."

ABSENT: Table = {
    "retrieved": Row(answer=told(_NO_RETRIEVAL, _LOOK_BACK), does="what was retrieved from what was said before"),
    "project": Row(
        answer=told(
            "No files of the project are retrieved into requests in this version of ullage; Pi's own tools read them.",
            "Pins and memory of the project are sent: `/context pins`, `/context memory`.",
        ),
        does="what was retrieved from the project's files",
    ),
    "continuation": Row(
        answer=told(
            "No response is continued at a provider in this version of ullage: Pi sends the whole conversation each time.",
            "What the provider's prompt cache spares stands in `/context tokens`.",
        ),
        does="whether responses are continued at the provider",
    ),
    "ranking": Group(
        usual="status",
        rows={
            name: Row(
                answer=told(
                    "No ranking is learned in this version of ullage: memory is ranked by fixed rules, so there is nothing to"
                    " train or to judge. `ullage memory find WORDS` shows the scores.",
                ),
                takes=takes,
                most=None,
                does=does,
            )
            for name, takes, does in (
                ("status", "", "what was learned for ranking"),
                ("feedback", "useful|irrelevant ID", "judge what was retrieved"),
                ("train", "", "learn from that"),
            )
        },
    ),
    "quality": Row(
        answer=told(
            "The quality of live requests is not scored: without labels a score would say nothing.",
            "What the planner keeps of recorded sessions is measured by `ullage eval bench`.",
        ),
        does="how good the choice of messages is",
    ),
    "rebuild-index": Row(
        answer=told(
            "There is no index to rebuild: nothing is derived from Pi's session files in this version of ullage.",
            "`ullage db rebuild` makes the databases anew from what can be read of them.",
        ),
        does="build the search index anew",
    ),
    "rebase": Row(
        answer=told(
            "ullage does not write a new session from a checkpoint in this version, so there is nothing to try or to recover.",
            "Pi's /compact shortens this one, /fork begins another from a message of it; pins and memory go along.",
        ),
        flags=frozenset({"dry-run", "recover"}),
        does="go on in a new, short session",
    ),
}
"""Retrieval, continuation, learned ranking, live quality, a search index, and sessions begun from a checkpoint."""
