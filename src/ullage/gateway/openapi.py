"""What each control route takes and gives, as data, and the OpenAPI document that is made of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec import Struct

from ullage._version import __version__
from ullage.stores.metrics import DEFAULT_SINCE, GROUPS
from ullage.stores.usage import DEFAULT_SINCE as USAGE_SINCE
from ullage.stores.usage import USAGE_GROUPS

from .budgets import SetBudget
from .keeping import MemoryChange, PinChange
from .reporting import Planned
from .steering import Judge, PreviewRoute, SetRoute, Vote

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

PREFIX = "/ullage/v1/"
Method = Literal["get", "post"]
_COMPONENTS = "#/components/schemas/{name}"


class Asked(Struct, frozen=True, kw_only=True):
    """One member of a query. `known` are the words that it may be, if those are all."""

    name: str
    says: str
    known: tuple[str, ...] = ()
    required: bool = False


class Described(Struct, frozen=True, kw_only=True):
    """One route: what it is for, what it is asked with, and the members that its answer always has. `body` is the type of what is
    posted."""

    method: Method
    name: str
    says: str
    query: tuple[Asked, ...] = ()
    body: Any = None
    answer: tuple[str, ...] = ()


_SESSION = Asked(name="session", says="Of this session alone, by its whole id.")
_LIMIT = Asked(name="limit", says="At most so many, up to 1,000; 50 if nothing is said.")
_PROJECT = Asked(name="project", says="Of this project alone, by its absolute path.")
_ALL = Asked(name="all", says="1: also those that have ended.", known=("1",))


def _since(usual: str) -> Asked:
    return Asked(name="since", says=f"Calls from then on: 30m, 24h, 7d, 2w, or a date; {usual} if nothing is said.")


DESCRIBED: tuple[Described, ...] = (
    Described(
        method="get", name="context", says="The newest context report.", query=(_SESSION,), answer=("sections", "total")
    ),
    Described(
        method="get",
        name="sessions",
        says="Sessions, the newest first.",
        query=(_LIMIT,),
        answer=("sessions",),
    ),
    Described(
        method="get",
        name="manifests",
        says="Records of calls, the newest first; of one call its record alone.",
        query=(Asked(name="id", says="The whole id of a call."), _SESSION, _LIMIT),
    ),
    Described(
        method="get",
        name="events",
        says="Branches, rewrites, compactions, switches, cache misses, the newest first.",
        query=(_SESSION, _LIMIT),
        answer=("events",),
    ),
    Described(
        method="get",
        name="metrics",
        says="Attempts, times, cost and caches of recorded calls.",
        query=(_since(DEFAULT_SINCE), Asked(name="by", says="What the rows are.", known=GROUPS)),
        answer=("since", "until", "by", "targets", "providers", "hourly"),
    ),
    Described(
        method="get",
        name="usage",
        says="Tokens and money of recorded calls, as providers reported them.",
        query=(_since(USAGE_SINCE), Asked(name="by", says="What the rows are.", known=USAGE_GROUPS), _SESSION),
        answer=("since", "until", "by", "total", "rows"),
    ),
    Described(
        method="get",
        name="plan",
        says="What became of the newest call that was planned.",
        query=(_SESSION,),
        answer=("call", "session", "at", "status"),
    ),
    Described(
        method="post",
        name="plan",
        says="What managed mode would send of a request, and why. Nothing is sent.",
        body=Planned,
        answer=("id", "status", "target", "budget", "included", "excluded"),
    ),
    Described(
        method="get",
        name="route",
        says="Where a prompt would go if it came next in a session, and why. Nothing is sent.",
        query=(
            Asked(name="prompt", says="What the user would ask.", required=True),
            _SESSION,
            Asked(name="images", says="How many pictures go with it."),
        ),
        answer=("target", "policy", "thinking", "task", "ranked", "excluded", "warnings", "notes", "session", "sent"),
    ),
    Described(
        method="post",
        name="route",
        says="`preview`: the same of a longer prompt. `set`: what holds for the routes of a session, or of all without one, from "
        "the next request on; null takes back what was set.",
        body=PreviewRoute | SetRoute,
        answer=("session",),
    ),
    Described(
        method="get", name="feedback", says="Votes, the newest first.", query=(_SESSION, _LIMIT), answer=("feedback",)
    ),
    Described(
        method="post",
        name="feedback",
        says="Keeps a vote for or against a target. `preference` is what all votes come to now, in utility, `cap` the most.",
        body=Vote,
        answer=("id", "target", "vote", "kinds", "preference", "cap"),
    ),
    Described(
        method="get",
        name="outcomes",
        says="What was said of tasks, the newest first.",
        query=(_SESSION, _LIMIT),
        answer=("outcomes",),
    ),
    Described(
        method="post",
        name="outcomes",
        says="Keeps what is said of a task that is over. Before any is, nothing is kept (404).",
        body=Judge,
        answer=("id", "task", "outcome", "target", "summary", "assessed", "cap"),
    ),
    Described(
        method="get",
        name="quota",
        says="Of each provider how much of its quota is used.",
        answer=("enabled", "providers"),
    ),
    Described(
        method="get",
        name="budget",
        says="Every limit of what may be spent, with what is spent and reserved of it: of a session (the one that spent last), "
        "days, months and providers.",
        query=(_SESSION,),
        answer=("at", "day", "time_zone", "session", "rows", "hours", "reserved", "session_limits"),
    ),
    Described(
        method="post",
        name="budget",
        says="Limits of one session, from its next call on; null takes one back.",
        body=SetBudget,
        answer=("session", "limits"),
    ),
    Described(
        method="get",
        name="config",
        says="The settings that the daemon runs with, and where each is from. No key of a provider is among them.",
        answer=("settings", "sources"),
    ),
    Described(
        method="get",
        name="pins",
        says="What is pinned.",
        query=(_SESSION, _PROJECT, _ALL),
        answer=("pins",),
    ),
    Described(
        method="post", name="pins", says="Adds, supersedes or takes back a pin.", body=PinChange, answer=("written",)
    ),
    Described(
        method="get",
        name="memory",
        says="What is remembered; with `query` what a request with these words would be told, the best first.",
        query=(_SESSION, _PROJECT, _ALL, Asked(name="query", says="Words of a request.")),
        answer=("memory",),
    ),
    Described(
        method="post",
        name="memory",
        says="Adds, supersedes, invalidates or expires a memory.",
        body=MemoryChange,
        answer=("written",),
    ),
    Described(method="get", name="openapi.json", says="This document.", answer=("openapi", "info", "paths")),
)


def describe() -> dict[str, Any]:
    """The document, OpenAPI 3.1."""
    bodies = [one.body for one in DESCRIBED if one.body is not None]
    schemas, components = msgspec.json.schema_components(bodies, ref_template=_COMPONENTS)
    by_body = dict(zip(map(id, bodies), schemas, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for one in DESCRIBED:
        schema = by_body.get(id(one.body))
        paths.setdefault(PREFIX + one.name, {})[one.method] = _operation(one, schema)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "ullage, the control routes",
            "version": __version__,
            "description": "For whoever holds the daemon's token, on this machine. Fields may be added to any object.",
        },
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "In the file `token` of the data directory.",
                }
            },
            "schemas": {**components, "Error": _ERROR},
        },
    }


_ERROR = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["type", "code", "message", "hint"],
            "properties": {
                "type": {"const": "ullage_error"},
                "code": {"type": "string"},
                "message": {"type": "string"},
                "hint": {"type": "string"},
            },
        }
    },
}


def _operation(one: Described, schema: dict[str, Any] | None) -> dict[str, Any]:
    body = {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}
    return {
        "operationId": f"{one.method}_{one.name.partition('.')[0]}",
        "summary": one.says,
        **({"parameters": list(_parameters(one.query))} if one.query else {}),
        **(body if schema is not None else {}),
        "responses": {
            "200": {
                "description": "Done.",
                "content": {"application/json": {"schema": {"type": "object", "required": list(one.answer)}}},
            },
            "default": {
                "description": "Refused: the token is wrong (401), the call makes no sense (400), there is no such thing (404), "
                "it goes against what there is (409), the body is too large (413), the database cannot be used (503).",
                "content": {"application/json": {"schema": {"$ref": _COMPONENTS.format(name="Error")}}},
            },
        },
    }


def _parameters(query: Sequence[Asked]) -> Iterator[dict[str, Any]]:
    for asked in query:
        words: dict[str, Any] = {"enum": list(asked.known)} if asked.known else {}
        yield {
            "name": asked.name,
            "in": "query",
            "required": asked.required,
            "description": asked.says,
            "schema": {"type": "string", **words},
        }
