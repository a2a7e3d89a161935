"""`ullage plan --batch`: a plan for each line, whatever is wrong with the others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import msgspec

from ullage.core.accounting import guess_shape
from ullage.core.errors import InputError, UllageError
from ullage.core.planning.assembling import SCOPES
from ullage.core.planning.manifest import count_reasons
from ullage.core.tokens import ESTIMATORS
from ullage.core.wire import DIALECTS
from ullage.core.wire.jsontext import decode
from ullage.core.wire.slicing import find_member, members
from ullage.engine.proposing import Ask

from .plan_text import describe_error

if TYPE_CHECKING:
    from ullage.core.planning.assembling import Scope
    from ullage.core.planning.proposal import Proposal
    from ullage.core.wire import Dialect
    from ullage.engine.proposing import Planner

_SHORT_DIALECTS: dict[str, Dialect] = {"anthropic-messages": "anthropic"}
_SHORT_ESTIMATORS = {"o200k": "o200k-base-v1"}


def answer_line(line: bytes, planner: Planner) -> bytes:
    """The answer to one line, as JSON without a line end; whatever is wrong with the line becomes its `error`."""
    row: dict[str, Any] = {}
    try:
        row = _read(line)
        proposal, _ = planner.propose(_request(line), _ask(row, line))
    except UllageError as error:
        return msgspec.json.encode({**_id(row), "error": error.message})
    except Exception as error:  # noqa: BLE001 - one odd line must not end a batch of thousands
        return msgspec.json.encode({**_id(row), "error": f"{type(error).__name__}: {error}"})
    return msgspec.json.encode({**_id(row), **_answer(proposal)})


def _answer(proposal: Proposal) -> dict[str, Any]:
    """What is planned. A refused request has no body: `kept` is what would have to be sent at least."""
    made = proposal.plan
    answer: dict[str, Any] = {
        "status": made.status,
        "kept": made.kept,
        "dropped": [drop.index for drop in made.dropped],
        "replaced": [{"index": one.index, "reason": "excerpt"} for one in made.replaced],
        "tokens": made.tokens,
        "limit": made.limit,
        "estimator": proposal.meter.estimator,
        "reasons": count_reasons(made),
    }
    if made.status != "refused":
        answer["request"] = msgspec.Raw(proposal.render())
    if made.error is not None:
        answer["error"] = describe_error(made)
    if made.warnings:
        answer["warnings"] = made.warnings
    return answer


def _id(row: dict[str, Any]) -> dict[str, Any]:
    return {"id": row.get("id")}


def _read(line: bytes) -> dict[str, Any]:
    if not line.strip():
        raise InputError("The line is empty.")
    row = decode(line)
    if not isinstance(row, dict):
        raise InputError("The line is no JSON object.")
    return row


def _request(line: bytes) -> bytes:
    """The body under `request`, as its very bytes."""
    found = find_member(members(line), "request")
    if found is None or not line.startswith(b"{", found.value):
        raise InputError("`request` is no JSON object.")
    return line[found.value : found.end]


def _ask(row: dict[str, Any], line: bytes) -> Ask:
    limit = row.get("input_limit")
    if limit is not None and (not isinstance(limit, int) or isinstance(limit, bool) or limit < 0):
        raise InputError("`input_limit` is no number of tokens from 0 on.")
    scope = row.get("scope", "request")
    if scope not in SCOPES:
        raise InputError(f"`scope` is none of {', '.join(SCOPES)}.")
    pins = row.get("pins", [])
    if not isinstance(pins, list) or not all(isinstance(pin, str) for pin in pins):
        raise InputError("`pins` is no list of JSON pointers.")
    excerpts = row.get("excerpts", False)
    if not isinstance(excerpts, bool):
        raise InputError("`excerpts` is neither true nor false.")
    return Ask(
        dialect=_dialect(row, line),
        provider=_word(row, "provider"),
        model=_word(row, "model"),
        input_limit=limit,
        scope=cast("Scope", scope),
        estimator=_estimator(row),
        pins=pins,
        excerpts=excerpts,
    )


def _dialect(row: dict[str, Any], line: bytes) -> Dialect:
    """The dialect that is named, under either of its keys; else the one that the request's keys tell."""
    named = _word(row, "dialect") or _word(row, "protocol") or guess_shape(_request(line))
    named = _SHORT_DIALECTS.get(named or "", named)
    found = next((dialect for dialect in DIALECTS if dialect == named), None)
    if found is None:
        raise InputError(f"`dialect` is none of {', '.join(DIALECTS)}.")
    return found


def _estimator(row: dict[str, Any]) -> str | None:
    named = _word(row, "counts")
    if named is None:
        return None
    name = _SHORT_ESTIMATORS.get(named, named)
    if name not in ESTIMATORS:
        raise InputError(f"`counts` is none of {', '.join(ESTIMATORS)}.")
    return name


def _word(row: dict[str, Any], key: str) -> str | None:
    """A word, `None` where there is none. Raises `InputError` for anything else."""
    value = row.get(key)
    if value is None or value == "":
        return None
    if not isinstance(value, str):
        raise InputError(f"`{key}` is no text.")
    return value
