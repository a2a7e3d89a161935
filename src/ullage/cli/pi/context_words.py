"""What follows `/context` (planner specification, section 31)."""

from __future__ import annotations

from .absent_words import ABSENT
from .asked import Group, Row, Table
from .calls import model, one_text, pin, plain, remember, screen, setting, show_settings, with_reason

_JSON = frozenset({"json"})
_ALL = frozenset({"all"})
_KEPT = frozenset({"scope", "classification", "source", "supersedes"})
_SAID = frozenset({"classification", "source", "key"})

CONTEXT: Table = {
    "status": Row(answer=screen("status_screen", "show_status"), does="where this session stands"),
    "tokens": Row(
        answer=screen("request_screens", "show_tokens"), does="what fills the newest request, and its limits"
    ),
    "model": Row(
        answer=model, takes="[PROVIDER/MODEL]", most=1, flags=_JSON, does="what is known of a model, and was learned"
    ),
    "manifest": Row(
        answer=screen("request_screens", "show_manifest"),
        takes="[ID]",
        most=1,
        flags=_JSON,
        does="the record of the newest request, or of another",
    ),
    "explain": Row(
        answer=screen("request_screens", "show_explanation"),
        takes="[ID]",
        most=1,
        flags=_JSON,
        does="why it was sent so",
    ),
    "included": Row(
        answer=screen("item_screens", "show_included"),
        takes="[all]",
        most=1,
        flags=_ALL,
        does="what the newest plan has sent, item by item",
    ),
    "excluded": Row(
        answer=screen("item_screens", "show_excluded"),
        takes="[all]",
        most=1,
        flags=_ALL,
        does="what it has left out, and why",
    ),
    "pins": Row(
        answer=screen("kept_screens", "show_pins"), takes="[all]", most=1, flags=_ALL, does="what is pinned here"
    ),
    "pin": Row(
        answer=pin,
        takes="TEXT",
        least=1,
        most=None,
        values=_KEPT | {"file"},
        does="keep a text in every request",
    ),
    "unpin": Row(
        answer=with_reason("pin", "remove"),
        takes="ID [REASON]",
        least=1,
        most=None,
        values=frozenset({"reason"}),
        does="take a pin back",
    ),
    "memory": Group(
        usual="list",
        rows={
            "list": Row(
                answer=screen("kept_screens", "show_memory"),
                takes="[all]",
                most=1,
                flags=_ALL,
                does="what is remembered here",
            ),
            "add": Row(
                answer=remember,
                takes="CLAIM",
                least=1,
                most=None,
                values=_KEPT | {"key"},
                does="remember a claim",
            ),
            "supersede": Row(
                answer=one_text("memory", "supersede", before=1),
                takes="ID CLAIM",
                least=2,
                most=None,
                values=_SAID,
                does="put a claim in the place of another",
            ),
            "invalidate": Row(
                answer=with_reason("memory", "invalidate"),
                takes="ID [REASON]",
                least=1,
                most=None,
                values=frozenset({"reason"}),
                does="a claim was wrong",
            ),
            "expire": Row(
                answer=with_reason("memory", "expire"),
                takes="ID [REASON]",
                least=1,
                most=None,
                values=frozenset({"reason"}),
                does="a claim holds no longer",
            ),
            "sources": Row(
                answer=plain("memory", "sources"),
                does="the sessions that the project's memory is from",
            ),
            "exclude": Row(
                answer=with_reason("memory", "exclude"),
                takes="SESSION [REASON]",
                least=1,
                most=None,
                does="leave out what a session has said of the project",
            ),
            "include": Row(
                answer=plain("memory", "include"),
                takes="SESSION",
                least=1,
                most=1,
                does="take that back",
            ),
        },
    ),
    "privacy": Row(answer=screen("privacy_screen", "show_privacy"), does="who may see what, and what was kept in"),
    "artifacts": Row(answer=screen("artifact_screen", "show_artifacts"), does="long tool results that were kept aside"),
    "summaries": Row(answer=screen("compaction_screens", "show_summaries"), does="what Pi has summarised"),
    "compaction": Row(answer=screen("compaction_screens", "show_compaction"), does="when, by whom, and the last ones"),
    "compact-preview": Row(
        answer=screen("compact_preview", "show_preview"), does="what a compaction now would do; nothing is sent"
    ),
    "metrics": Row(answer=plain("metrics"), flags=_JSON, does="calls, times, cost and caches, by model"),
    "storage": Row(answer=screen("storage_screens", "show_storage"), does="sizes of the databases, and what to do"),
    "health": Row(answer=screen("storage_screens", "show_health"), does="OK, or what to look at"),
    "config": Group(
        usual="show",
        rows={
            "show": Row(
                answer=show_settings, takes="[KEY]", most=1, does="each setting, its default, and where it is from"
            ),
            "set": Row(
                answer=setting("set"),
                takes="KEY VALUE",
                least=2,
                most=None,
                flags=frozenset({"global"}),
                does="write a setting of this project, or with --global of yours",
            ),
            "unset": Row(
                answer=setting("unset"),
                takes="KEY",
                least=1,
                most=1,
                flags=frozenset({"global"}),
                does="take it out again",
            ),
        },
    ),
    "history": Group(
        usual="status",
        rows={
            "status": Row(answer=screen("history_screens", "show_status"), does="what can be searched"),
            "search": Row(
                answer=screen("history_screens", "show_found"),
                takes="WORDS",
                least=1,
                most=None,
                does="find what was said before in this project",
            ),
            "read": Row(
                answer=screen("history_screens", "show_lines"),
                takes="HANDLE [LINE [LINES]]",
                least=1,
                most=3,
                does="lines of what was found",
            ),
        },
    ),
    "adapter": Row(answer=screen("adapter_screen", "show_adapter"), does="what this Pi offers, and what works with it"),
    **ABSENT,
}
"""What follows `/context`."""
