"""What it takes to account a 2 MB request: cold, and warm with one exchange more than the request before.

    python -m benchmarks.bench_accounting

CPU time of this process, the best of several runs; figures of a shared machine: read the ratios. Cold work stands beside the
tokenizer alone on the same texts; a warm turn beside the sizes of ever longer conversations, whose common part is known.
"""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from ullage.core.accounting import assemble, make_meter, read_options
from ullage.core.tokens import load_vocabulary
from ullage.core.wire import parse_request, read_context
from ullage.engine.measuring import Measuring

if TYPE_CHECKING:
    from collections.abc import Callable

    from ullage.core.accounting import Meter
    from ullage.core.wire import Conversation

EXCHANGES = 532
"""Four messages each: a question, a call, its result, an answer. Some 2 MB together."""

RUNS = 15
_WORDS = (
    "the",
    "file",
    "reads",
    "def",
    "return",
    "token",
    "count",
    "window",
    "0x1f",
    "{",
    "}",
    "\n",
    "error",
    "model",
    "=",
)


class Turn(NamedTuple):
    """One observed request, step by step, in milliseconds."""

    parse: float
    measure: float
    assemble: float

    @property
    def whole(self) -> float:
        return sum(self)


def main() -> None:
    meter = make_meter(dialect="openai-chat", provider="openai", model="gpt-5.4", client=None)
    body = make_body(EXCHANGES)
    report_cold(body, meter)
    print(f"\n{'warm: one exchange more':<34}{'parse':>9}{'measure':>9}{'assemble':>10}{'all':>8}   ms")
    for exchanges in (EXCHANGES // 4, EXCHANGES // 2, EXCHANGES, EXCHANGES * 2):
        turn = warm_turn(exchanges, meter)
        size = f"{len(make_body(exchanges)) / 1e6:.1f} MB, {exchanges * 4:,} messages"
        print(f"{size:<34}{turn.parse:>9.2f}{turn.measure:>9.2f}{turn.assemble:>10.2f}{turn.whole:>8.2f}")


def report_cold(body: bytes, meter: Meter) -> None:
    texts = all_texts(parse_request(body, "openai-chat"))
    vocabulary = load_vocabulary("o200k_base")
    vocabulary.count("warm up")
    chars = sum(map(len, texts))
    alone = best_ms(lambda: [vocabulary.count(text) for text in texts], runs=3)
    cold = best_ms(lambda: account_cold(body, meter), runs=3)
    print(f"cold: {len(body) / 1e6:.2f} MB, {len(texts):,} texts of {chars / 1e6:.2f} M characters")
    print(f"{'the tokenizer alone':<34}{alone:>9.0f} ms{chars / alone / 1e3:>9.1f} MB/s")
    print(
        f"{'parse, measure, assemble':<34}{cold:>9.0f} ms{chars / cold / 1e3:>9.1f} MB/s{cold / alone:>9.2f} times the tokenizer"
    )


def warm_turn(exchanges: int, meter: Meter) -> Turn:
    before = parse_request(make_body(exchanges), "openai-chat")
    body = make_body(exchanges + 1)
    measuring = Measuring()
    assemble_all(measuring, before, meter)
    following = parse_request(body, "openai-chat", previous=before)
    measures = measuring.measure(following, meter)
    options = read_options(following)
    return Turn(
        parse=best_ms(lambda: parse_request(body, "openai-chat", previous=before)),
        measure=best_ms(lambda: measuring.measure(following, meter)),
        assemble=best_ms(lambda: assemble(meter, **measures._asdict(), options=options)),
    )


def account_cold(body: bytes, meter: Meter) -> object:
    return assemble_all(Measuring(), parse_request(body, "openai-chat"), meter)


def assemble_all(measuring: Measuring, conversation: Conversation, meter: Meter) -> object:
    return assemble(meter, **measuring.measure(conversation, meter)._asdict(), options=read_options(conversation))


def all_texts(conversation: Conversation) -> list[str]:
    context = read_context(conversation)
    return [*context.system, *(part.text for message in context.messages for part in message.parts)]


def make_body(exchanges: int) -> bytes:
    """A conversation whose beginning is the same for every length."""
    drawn = random.Random(11)
    messages: list[dict[str, object]] = [{"role": "system", "content": words(drawn, 400)}]
    for number in range(exchanges):
        call = {
            "id": f"call_{number}",
            "type": "function",
            "function": {"name": "read", "arguments": '{"path":"a.py"}'},
        }
        messages += [
            {"role": "user", "content": words(drawn, 60)},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"call_{number}", "content": words(drawn, 700)},
            {"role": "assistant", "content": words(drawn, 120)},
        ]
    tool = {
        "name": "read",
        "description": "Reads.",
        "parameters": {"type": "object", "properties": {"path": {"type": "string"}}},
    }
    return msgspec.json.encode(
        {"model": "gpt-5.4", "messages": messages, "tools": [{"type": "function", "function": tool}]}
    )


def words(drawn: random.Random, count: int) -> str:
    return " ".join(
        drawn.choice(_WORDS) if drawn.random() < 0.7 else f"v{drawn.randrange(10_000)}" for _ in range(count)
    )


def best_ms(run: Callable[[], object], runs: int = RUNS) -> float:
    times = []
    for _ in range(runs):
        begin = time.process_time_ns()
        run()
        times.append(time.process_time_ns() - begin)
    return min(times) / 1e6


if __name__ == "__main__":
    main()
