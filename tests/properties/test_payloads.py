"""Whatever is a legal request on the wire (design, section 11) is accounted for, whichever shape it is taken for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.strategies import dialects, requests
from ullage.core.accounting import SHAPES, account, guess_shape, make_meter, read_payload

if TYPE_CHECKING:
    from ullage.core.wire import Dialect

relaxed = settings(
    deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


@given(data=st.data(), dialect=dialects)
@relaxed
def test_a_legal_body_has_a_shape_or_none_and_never_ends_in_an_error(data: st.DataObject, dialect: Dialect) -> None:
    body = data.draw(requests(dialect))
    assert guess_shape(body) in (*SHAPES, None)


@given(data=st.data(), dialect=dialects, shape=st.sampled_from(SHAPES))
@relaxed
def test_a_legal_body_is_accounted_for_in_every_shape(data: st.DataObject, dialect: Dialect, shape: str) -> None:
    payload = read_payload(data.draw(requests(dialect)), shape)
    meter = make_meter(dialect=shape, provider=None, model="claude-opus-4-8", client=None)
    breakdown = account(payload.context, meter, options=payload.options)
    assert sum(section.tokens for section in breakdown.sections) + breakdown.gap == breakdown.total.tokens


@pytest.mark.parametrize("key", ["type", "role", "content", "text", "input", "source", "name"])
@pytest.mark.parametrize("odd", ["[]", "{}", '{"type": []}', "[[{}]]", "1e999", '"\\ud800"', "true", "null"])
def test_a_value_of_any_type_under_a_known_key_is_read(key: str, odd: str) -> None:
    body = f'{{"messages": [{{"role": "user", "content": [{{"type": "text", "{key}": {odd}}}], "{key}": {odd}}}]}}'
    shape = guess_shape(body.encode())
    assert shape is not None
    read_payload(body.encode(), shape)
