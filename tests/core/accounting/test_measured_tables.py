"""Measured tables of the accounting specification, section 17, as far as our rules speak of what they hold."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from ullage.core.accounting import make_meter
from ullage.core.accounting.options import NO_OPTIONS, Options
from ullage.core.content import Media
from ullage.core.profiles import find_family

if TYPE_CHECKING:
    from pathlib import Path

    from ullage.core.accounting import Meter

SOL = ("openai-responses", "openai-codex", "gpt-5.6-sol")
FABLE = ("anthropic", "anthropic", "claude-fable-5")
# Characters of JSON to a token of o200k: 48.1k characters of tools are about 10.8k tokens (17.1).
_JSON_CHARS_PER_TOKEN = 48_126 / 10_800


def meter(dialect: str, provider: str, model: str) -> Meter:
    return make_meter(dialect=dialect, provider=provider, model=model, client=None)


def test_17_2_newer_claude_makes_more_tokens_of_the_same_text_by_the_ratio_of_its_rows() -> None:
    old, new = find_family("anthropic", None, "claude-opus-4-6"), find_family("anthropic", None, "claude-opus-4-8")
    for before, after in ((2_735, 3_873), (4_613, 6_640), (3_172, 4_673), (4_266, 5_909)):
        assert new.prose / old.prose == pytest.approx(after / before, rel=0.08)
    assert new.tools.ratio / old.tools.ratio == pytest.approx(19_300 / 14_371, rel=0.12)


def test_17_4_sizes_of_tools_over_a_divisor_are_what_the_table_says() -> None:
    assert (-(-47_916 // 4), round(47_916 / 5.5)) == (11_979, 8_712)


@pytest.fixture
def component_sizes(shared_data: Path) -> list[dict[str, Any]]:
    lines = (shared_data / "token_ground_truth.jsonl").read_bytes().splitlines()
    return [row for row in map(msgspec.json.decode, lines) if row["kind"] == "component-sizes"]


def totals(rows: list[dict[str, Any]], model: str) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for row in rows:
        if row["model"] == model and row["provider"] != "radius":
            found.setdefault(row["payload"]["case"], []).append(row["tokens"])
    return found


@pytest.mark.shared
@pytest.mark.parametrize("who", [SOL, FABLE], ids=["openai", "anthropic"])
def test_17_7_pictures_cost_what_their_size_says(
    component_sizes: list[dict[str, Any]], who: tuple[str, str, str]
) -> None:
    found = totals(component_sizes, who[2])
    small, ordinary = (Media(kind="image", width=width, height=height) for width, height in ((32, 32), (1024, 768)))
    rule = meter(*who).rule
    measured = found["image-ordinary"][0] - found["image-small"][0]
    assert rule.media(ordinary).tokens - rule.media(small).tokens == pytest.approx(measured, rel=0.005)


@pytest.mark.shared
def test_17_7_the_tool_block_of_openai_is_what_one_tool_costs_beside_its_declaration(
    component_sizes: list[dict[str, Any]],
) -> None:
    found = totals(component_sizes, SOL[2])
    assert (found["tool-one"][0] - found["baseline"][0], found["tool-four"][0] - found["baseline"][0]) == (141, 478)
    assert meter(*SOL).rule.tool_block(NO_OPTIONS) == 16


@pytest.mark.shared
def test_17_7_four_tools_of_claude_are_the_published_block_and_a_net_cost_near_ours(
    component_sizes: list[dict[str, Any]],
) -> None:
    found = totals(component_sizes, FABLE[2])
    family = find_family("anthropic", "anthropic", FABLE[2])
    block = meter(*FABLE).rule.tool_block(NO_OPTIONS)
    assert (block, meter(*FABLE).rule.tool_block(Options(choice="any"))) == (290, 410)
    net = found["tool-four"][0] - found["baseline"][0] - block
    assert net == 976
    ours = 2_877 / _JSON_CHARS_PER_TOKEN * family.tools.ratio + 4 * family.tools.each
    assert ours == pytest.approx(net, rel=0.12)


@pytest.mark.shared
@pytest.mark.parametrize("who", [SOL, FABLE], ids=["openai", "anthropic"])
def test_17_7_each_growing_turn_costs_its_text_and_a_frame(
    component_sizes: list[dict[str, Any]], who: tuple[str, str, str]
) -> None:
    growing = totals(component_sizes, who[2])["growing-history"]
    steps = {after - before for before, after in itertools.pairwise(growing)}
    rule = meter(*who).rule
    frames = rule.message_frame("user", 1) + rule.message_frame("assistant", 1)
    # 31 characters a turn: six to eight tokens of o200k.
    assert all(frames + 6 <= step <= frames + 8 * find_family(who[1], who[0], who[2]).prose + 4 for step in steps)


@pytest.mark.parametrize(
    ("model", "tokens"),
    [("command-r-08-2024", (13_798, 9_794)), ("north-mini-code", (13_120, 8_513)), ("grok-4.3", (13_177, 8_659))],
)
def test_17_9_families_without_a_vocabulary_have_the_density_of_the_corpus(model: str, tokens: tuple[int, int]) -> None:
    """Instructions and code beside what GLM's own tokenizer makes of them; o200k has 4.3 characters a token of instructions."""
    family = find_family(None, None, model)
    assert family.prose == pytest.approx(tokens[0] / 13_330, rel=0.04)
    assert tokens[1] / 8_711 == pytest.approx(family.dense, rel=0.09)
