"""The child process of the daemon: reads an order on standard input, makes the files, answers with what did not work."""

from __future__ import annotations

import asyncio
import sys

import msgspec

from .orders import Order
from .refreshing import carry_out


def main() -> None:
    """One order as JSON in, one outcome as JSON out."""
    order = msgspec.json.decode(sys.stdin.buffer.read(), type=Order)
    sys.stdout.buffer.write(msgspec.json.encode(asyncio.run(carry_out(order))))


if __name__ == "__main__":
    main()
