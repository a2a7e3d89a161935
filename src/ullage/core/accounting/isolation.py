"""What each section of one captured request costs, by the difference of counts (accounting specification, section 15.2).

`plan_isolation` says which requests to count: each keeps some slices of the captured one, byte for byte, before a message that
only says `hi`. `isolate` turns their counts into costs. Who counts, and how, is decided elsewhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from ullage.core.content import ToolSpec
from ullage.core.wire import read_message, read_system, read_tool
from ullage.core.wire.jsontext import compact, decode

from .inline_tools import WIRE_TYPE, inline_tools
from .tool_shapes import tool_payload, tools_payload

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ullage.core.content import Message
    from ullage.core.wire import Conversation, Dialect

BASELINE, SYSTEM, TOOLS, FULL = "baseline", "system", "tools", "full"
"""Ids of cases; one tool's is `tool:` and its name."""


class Case(Struct, frozen=True, kw_only=True):
    """One request to count: the indexes of the slices it keeps.

    A `minimal` one ends with a message `hi` after the kept messages; the other is the captured request itself.
    """

    id: str
    system: tuple[int, ...] = ()
    tools: tuple[int, ...] = ()
    messages: tuple[int, ...] = ()
    minimal: bool = True


class ToolSize(Struct, frozen=True, kw_only=True):
    """A tool of the request. `case` is the id of the case that holds it alone, `chars` its minified payload in code points."""

    name: str
    case: str
    chars: int
    deferred: bool = False


class IsolationPlan(Struct, frozen=True, kw_only=True):
    """The cases in the order of their worth, and the sizes that their counts are set against, in code points.

    `system_chars` is the text of the system prompt, `tools_chars` the minified payload of all loaded tools.
    """

    cases: tuple[Case, ...]
    tools: tuple[ToolSize, ...]
    system_chars: int
    tools_chars: int


class ToolCost(Struct, frozen=True, kw_only=True):
    """One tool in tokens: what its request counted above the baseline, and that without the tool block (`net`).

    `None` is not known; a deferred tool costs nothing.
    """

    name: str
    chars: int
    marginal: int | None
    net: int | None
    deferred: bool = False


class Isolation(Struct, frozen=True, kw_only=True):
    """The costs in tokens; `None` where a count is missing or nothing of the kind is in the request.

    `system` and `tools` lie above the baseline; `block` comes once with the first tool and is a part of `tools`, `tools_net` the
    rest of it. `rest` is what the full request counts beside system prompt and tools: its messages and what frames them. The
    denominators are code points a token, for text and for tool payloads.
    """

    baseline: int | None
    system: int | None
    tools: int | None
    block: int | None
    tools_net: int | None
    rest: int | None
    full: int | None
    tool_costs: tuple[ToolCost, ...]
    text_denominator: float | None
    tools_denominator: float | None


class _Unit(Struct, frozen=True, kw_only=True):
    """What can be sent as one tool: a tool slice, or an item of the conversation that defines tools."""

    specs: tuple[ToolSpec, ...]
    tools: tuple[int, ...] = ()
    messages: tuple[int, ...] = ()

    @property
    def name(self) -> str:
        return self.specs[0].name if len(self.specs) == 1 else WIRE_TYPE

    @property
    def deferred(self) -> bool:
        return all(spec.deferred for spec in self.specs)


def full_case(conversation: Conversation) -> Case:
    """The captured request itself."""
    return Case(
        id=FULL,
        system=tuple(range(len(conversation.system))),
        tools=tuple(range(len(conversation.tools))),
        messages=tuple(range(len(conversation.messages))),
        minimal=False,
    )


def plan_isolation(conversation: Conversation) -> IsolationPlan:
    """The requests that take this one apart. System messages at the head of the message list belong to the system prompt.

    A deferred tool gets no request of its own: it costs nothing, and providers refuse it alone. With a single tool, its request
    and that of all tools are one.
    """
    dialect = conversation.dialect
    lead = list(_lead(conversation))
    system_messages = tuple(index for index, message in lead if not _defines_tools(message))
    units = [
        *(_Unit(specs=(read_tool(piece, dialect),), tools=(index,)) for index, piece in enumerate(conversation.tools)),
        *(_Unit(specs=_inline(message), messages=(index,)) for index, message in lead if _defines_tools(message)),
    ]
    tools = _sizes(units, dialect)
    cases = [Case(id=BASELINE)]
    if conversation.system or system_messages:
        every = tuple(range(len(conversation.system)))
        cases.append(Case(id=SYSTEM, system=every, messages=system_messages))
    loaded = [unit for unit in units if not unit.deferred]
    if loaded:
        cases.append(_together(TOOLS, units))
    if len(loaded) > 1:
        cases += [_together(size.case, [unit]) for unit, size in zip(units, tools, strict=True) if not unit.deferred]
    text = sum(len(read_system(piece, dialect)) for piece in conversation.system)
    text += sum(len(part.text) for index, message in lead if index in system_messages for part in message.parts)
    return IsolationPlan(
        cases=(*cases, full_case(conversation)),
        tools=tools,
        system_chars=text,
        tools_chars=_list_chars([spec for unit in units for spec in unit.specs if not spec.deferred], dialect),
    )


def isolate(plan: IsolationPlan, counts: Mapping[str, int]) -> Isolation:
    """The costs that the counts of the plan's cases amount to; a case without a count leaves unknown what hangs on it."""
    baseline = counts.get(BASELINE)
    marginals = {} if baseline is None else {case: count - baseline for case, count in counts.items()}
    loaded = [tool for tool in plan.tools if not tool.deferred]
    alone = loaded[0].case if len(loaded) == 1 else None
    block = tool_block([marginals.get(tool.case) for tool in loaded], marginals.get(TOOLS))
    costs = tuple(
        ToolCost(name=tool.name, chars=tool.chars, marginal=0, net=0, deferred=True)
        if tool.deferred
        else _cost(tool, marginals.get(TOOLS if tool.case == alone else tool.case), block)
        for tool in plan.tools
    )
    system, tools = marginals.get(SYSTEM), marginals.get(TOOLS)
    tools_net = tools - block if tools is not None and block is not None else None
    return Isolation(
        baseline=baseline,
        system=system,
        tools=tools,
        block=block,
        tools_net=tools_net,
        rest=_rest(plan, counts.get(FULL), marginals),
        full=counts.get(FULL),
        tool_costs=costs,
        text_denominator=_denominator(plan.system_chars, system),
        tools_denominator=_denominator(plan.tools_chars, tools_net),
    )


def tool_block(marginals: Sequence[int | None], together: int | None) -> int | None:
    """What comes once with the first tool, from the marginals of every tool alone and of all together.

    Known only with two tools or more, all of them counted: a block taken from some of them would be charged to the others.
    """
    known = [marginal for marginal in marginals if marginal is not None]
    if together is None or len(known) < 2 or len(known) < len(marginals):
        return None
    return max(0, round((sum(known) - together) / (len(known) - 1)))


def _lead(conversation: Conversation) -> Iterator[tuple[int, Message]]:
    """The messages before the first that belongs to the conversation proper."""
    for index, piece in enumerate(conversation.messages):
        message = read_message(piece, conversation.dialect)
        if message.role not in ("system", "developer") and not _defines_tools(message):
            return
        yield index, message


def _defines_tools(message: Message) -> bool:
    return bool(_inline(message))


def _inline(message: Message) -> tuple[ToolSpec, ...]:
    return tuple(spec for part in message.parts for spec in inline_tools(part))


def _sizes(units: Sequence[_Unit], dialect: Dialect) -> tuple[ToolSize, ...]:
    """The tools with ids of their own, also where two have one name."""
    seen: dict[str, int] = {}
    sizes = []
    for unit in units:
        number = seen[unit.name] = seen.get(unit.name, 0) + 1
        sizes.append(
            ToolSize(
                name=unit.name,
                case=f"tool:{unit.name}" if number == 1 else f"tool:{unit.name}#{number}",
                chars=sum(_payload_chars(spec, dialect) for spec in unit.specs),
                deferred=unit.deferred,
            )
        )
    return tuple(sizes)


def _payload_chars(spec: ToolSpec, dialect: Dialect) -> int:
    """The minified payload: of a function in the provider's shape, of any other kind as it was sent."""
    if spec.kind == "function":
        return len(tool_payload(spec, dialect))
    return len(compact(decode(spec.wire)))


def _list_chars(specs: Sequence[ToolSpec], dialect: Dialect) -> int:
    functions = [spec for spec in specs if spec.kind == "function"]
    others = [_payload_chars(spec, dialect) + len(",") for spec in specs if spec.kind != "function"]
    return len(tools_payload(functions, dialect)) + sum(others)


def _together(case: str, units: Sequence[_Unit]) -> Case:
    return Case(
        id=case,
        tools=tuple(index for unit in units for index in unit.tools),
        messages=tuple(index for unit in units for index in unit.messages),
    )


def _cost(tool: ToolSize, marginal: int | None, block: int | None) -> ToolCost:
    net = marginal - block if marginal is not None and block is not None else None
    return ToolCost(name=tool.name, chars=tool.chars, marginal=marginal, net=net)


def _rest(plan: IsolationPlan, full: int | None, marginals: Mapping[str, int]) -> int | None:
    parts = [case.id for case in plan.cases if case.id in (SYSTEM, TOOLS)]
    if full is None or any(part not in marginals for part in parts):
        return None
    return full - sum(marginals[part] for part in parts)


def _denominator(chars: int, tokens: int | None) -> float | None:
    return round(chars / tokens, 2) if chars and tokens is not None and tokens > 0 else None
