"""The daemon's task that keeps the files fresh: it looks now and then, and has a child process do the work."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from typing import TYPE_CHECKING

import msgspec

from .orders import LITELLM_ADDRESS, Outcome

if TYPE_CHECKING:
    from .catalogs import Catalogs
    from .orders import Order

LOOK_S = 600.0
"""Seconds between two looks whether anything is due."""

LONGEST_WORK_S = 300.0
"""A child process that takes longer is ended."""


async def keep_fresh(
    catalogs: Catalogs, *, address: str = LITELLM_ADDRESS, proxy: str | None = None, look_s: float = LOOK_S
) -> None:
    """Makes the files anew whenever they are due, until it is cancelled. `proxy` is the way to `address`.

    It never raises: what does not work is in `problems()` and is tried again.
    """
    while True:
        for order in await asyncio.to_thread(catalogs.find_orders, address=address, proxy=proxy):
            outcome = await run_child(order)
            await asyncio.to_thread(catalogs.take, order, outcome)
        await asyncio.sleep(look_s)


async def run_child(order: Order) -> Outcome:
    """Has a child process carry out the order. It is ended when this is cancelled."""
    try:
        # -P: the folder in which the daemon was started is no place to import from.
        child = await asyncio.create_subprocess_exec(
            sys.executable,
            "-P",
            "-m",
            "ullage.catalogs",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
    except OSError as error:
        return Outcome(failure=f"The helper process could not be started: {error}.")
    try:
        # Not by `wait_for`: in Python 3.11 it loses a cancellation that comes as its work ends, and the daemon would not end.
        async with asyncio.timeout(LONGEST_WORK_S):
            answer, _ = await child.communicate(msgspec.json.encode(order))
        return msgspec.json.decode(answer, type=Outcome)
    except TimeoutError:
        return Outcome(failure="The helper process took too long.")
    except msgspec.DecodeError:
        return Outcome(failure=f"The helper process ended with status {child.returncode}.")
    finally:
        if child.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                child.kill()
            await child.wait()
