"""Why a candidate is out, and why there is no route: codes that programs may rely on, reasons for people.

Routing specification, sections 2.3 and 6.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Mapping

Stage = Literal["constraints", "pin", "fit", "circuits", "pool", "failover", "rules", "quota"]

STAGES: Mapping[Stage, int] = MappingProxyType(
    {"constraints": 3, "pin": 4, "fit": 5, "circuits": 6, "pool": 7, "failover": 8, "rules": 9, "quota": 10}
)
"""Numbers of the stages that drop candidates (section 2.3); those from `failover` on never drop all of them."""

Code = Literal[
    "virtual-entry",
    "out-of-scope",
    "no-credential",
    "provider-denied",
    "provider-not-allowed",
    "model-excluded",
    "model-not-included",
    "auto-excluded",
    "not-pinned",
    "tier-too-low",
    "tier-unknown",
    "dialect",
    "no-vision",
    "vision-unknown",
    "window-too-small",
    "window-unknown",
    "output-too-small",
    "output-unknown",
    "circuit-open",
    "not-in-pool",
    "failed-before",
    "rule-excluded",
    "quota-blocked",
]
"""What was in the way. Those that end in `unknown` are doubts: they drop a candidate only while another has none."""

StopCode = Literal[
    "scope-empty",
    "auth-unavailable",
    "filtered-by-constraints",
    "unmatched-pin",
    "incompatible",
    "circuits-open",
    "pool-empty",
]


class Excluded(Struct, frozen=True, kw_only=True):
    """One candidate that was dropped: at which stage, by which code, and why as a sentence's part."""

    target: str
    stage: Stage
    code: Code
    reason: str


class Stop(Struct, frozen=True, kw_only=True):
    """Why no candidate is left: the stage that took the last one. `message` names what was in the way, with its number; `hint` is
    the next step; `targets` are those that got as far as this stage. `reopens_ms` is when the first circuit opens for a trial,
    epoch milliseconds."""

    stage: Stage
    code: StopCode
    message: str
    hint: str
    targets: tuple[str, ...] = ()
    reopens_ms: int | None = None
