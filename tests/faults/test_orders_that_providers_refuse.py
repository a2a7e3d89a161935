"""A plan never makes a request that its provider refuses out of one that it takes.

Judged by the fake provider at its strictest, which shares no code with the planner, on conversations of all dialects.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from msgspec import structs

from tests.properties.test_plans import Case, cases
from ullage.core.planning import plan, plan_live
from ullage.core.planning.assembling import Reference, render_plan
from ullage.core.wire import parse_request
from ullage.testing.dialects.events import seal
from ullage.testing.strict import find_refusal


@given(case=cases(), thinks=st.booleans())
@settings(deadline=None, max_examples=300)
@pytest.mark.slow
def test_what_a_provider_takes_it_takes_planned(case: Case, thinks: bool) -> None:
    dialect, given = case.talk.dialect, case.given
    body = _sealed(case.talk.body)
    if thinks and dialect == "anthropic":
        body["thinking"] = {"type": "enabled"}
    assume(find_refusal(dialect, body) is None)
    conversation = parse_request(json.dumps(body).encode(), dialect)
    evidence = [
        *(structs.replace(one, text="what was kept") for one in given.supplements),
        *(Reference(trim=one, text="what there was") for one in given.trims),
    ]
    for made in (plan(given), plan_live(given)):
        if made.status != "refused":
            assert find_refusal(dialect, json.loads(render_plan(conversation, made, evidence=evidence))) is None


def _sealed(body: dict[str, Any]) -> dict[str, Any]:
    """The body with signatures as the fake provider gives them."""
    copied: dict[str, Any] = json.loads(json.dumps(body))
    for message in copied.get("messages", []):
        for block in message["content"] if isinstance(message.get("content"), list) else []:
            if block.get("type") == "thinking":
                block["signature"] = seal(block["thinking"])
    return copied
