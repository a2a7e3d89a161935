"""References that quote as much as there is room for, counted with the meter that limits are drawn by."""

from __future__ import annotations

import pytest

from ullage.core.accounting import Meter, make_meter
from ullage.core.evidence.artifacts import ArtifactCaps, make_artifact, reference_text
from ullage.core.evidence.offers import Offer
from ullage.engine.quoting import Place, Weighed, quote_within, share_room, shortest_caps, weigh_offer

PROSE = "".join(f"{number} of the lines of an output that somebody wrote\n" for number in range(2_000))
DENSE = "".join(chr(0x4E00 + number * 7 % 8_000) for number in range(20_000))
ERRORS = PROSE + "\n".join(f"ERROR {number}: it broke" for number in range(400)) + PROSE
TEXTS = {"prose": PROSE, "dense": DENSE, "errors": ERRORS, "quotes": '"\\\n' * 9_000}


@pytest.fixture
def meter() -> Meter:
    return make_meter(dialect="openai-chat", provider="openai", model="gpt-4.1", client=None)


def shortest(text: str, meter: Meter) -> Weighed:
    artifact = make_artifact(text, call_id="c", tool="read")
    offer = Offer(ordinal=0, artifact=artifact, text=reference_text(artifact, text, shortest_caps(ArtifactCaps())))
    weighed = weigh_offer(offer, text, meter)
    assert weighed is not None
    return weighed


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("room", [700, 3_000, 9_000])
def test_the_room_is_filled_and_not_exceeded(name: str, room: int, meter: Meter) -> None:
    text = TEXTS[name]
    one = shortest(text, meter)
    made = quote_within(one, text, meter, str, room)
    assert 0.9 * room < made.tokens_after <= room
    assert made.tokens_after == meter.rule.result(made.offer.text, "read").tokens
    assert made == quote_within(one, text, meter, str, room)
    assert (made.offer.artifact, made.tokens_before) == (one.offer.artifact, one.tokens_before)


def test_beginning_and_end_are_quoted_and_the_lines_of_failure_take_an_eighth(meter: Meter) -> None:
    text = "THE BEGINNING " + ERRORS + " THE END"
    made = quote_within(shortest(text, meter), text, meter, str, 8_000).offer.text
    lines = {line.partition(":")[0]: line for line in made.splitlines()}
    assert "THE BEGINNING" in lines["head"] and "THE END" in lines["tail"] and "ERROR 3" in lines["errors"]
    assert len(lines["errors"]) < (len(lines["head"]) + len(lines["tail"])) / 7


@pytest.mark.parametrize("room", [-500, 0, 60])
def test_without_room_the_reference_has_no_quotes(room: int, meter: Meter) -> None:
    one = shortest(PROSE, meter)
    assert quote_within(one, PROSE, meter, str, room) == one


def test_binary_data_are_never_quoted(meter: Meter) -> None:
    text = "\0binary" * 9_000
    one = shortest(text, meter)
    assert quote_within(one, text, meter, str, 9_000).offer.text == one.offer.text


def test_credentials_are_redacted(meter: Meter) -> None:
    text = "secret-word " + PROSE
    made = quote_within(
        shortest(text, meter), text, meter, lambda quoted: quoted.replace("secret-word", "[gone]"), 3_000
    )
    assert "[gone]" in made.offer.text and "secret-word" not in made.offer.text


def test_a_small_result_stays_whole_and_leaves_its_share_to_larger_ones(meter: Meter) -> None:
    small, large = PROSE[:9_000], PROSE
    texts: dict[Place, str] = {(4, 0): large, (4, 1): small, (5, 0): large}
    weighed = {place: shortest(text, meter) for place, text in texts.items()}
    room = weighed[4, 1].tokens_before + 8_000
    made = share_room(weighed, texts, meter, str, room)
    assert made.keys() == {(4, 0), (5, 0)}
    assert all(3_600 < one.tokens_after <= 4_200 for one in made.values())
    assert sum(one.tokens_after for one in made.values()) <= 8_000
