"""Limits of a prompt and of its parts, drawn from what is known of a model and learned of it; and plans that keep to them."""

from .awareness import Anchored, Awareness, Policy, become_aware, heed_output, report_awareness, report_profile
from .budget import Budget, Limits, draw_budget
from .categories import Adaptive, Category, Overrides, Tier, find_tier, resolve_categories
from .emergency import plan_live
from .facts import ResultFacts, SliceFacts, facts_of
from .groups import Exchange, Group, Outline, current_groups, group_messages, outline, split_exchanges
from .pairing import Fault, FaultKind
from .plan import plan
from .reasons import Reason
from .records import Drop, LeftOut, Placed, Plan, PlanError, Replacement, Status
from .report import report_adaptive, report_budget
from .request import Caps, Placement, PlanInput, Trim
from .rows import Exclusion, Row
from .supplement import Supplement, SupplementKind
from .tail import choose_tail
from .tail_records import TailChoice, TailContext, TailMemory, TailPolicy
from .validity import find_faults

__all__ = [
    "Adaptive",
    "Anchored",
    "Awareness",
    "Budget",
    "Caps",
    "Category",
    "Drop",
    "Exchange",
    "Exclusion",
    "Fault",
    "FaultKind",
    "Group",
    "LeftOut",
    "Limits",
    "Outline",
    "Overrides",
    "Placed",
    "Placement",
    "Plan",
    "PlanError",
    "PlanInput",
    "Policy",
    "Reason",
    "Replacement",
    "ResultFacts",
    "Row",
    "SliceFacts",
    "Status",
    "Supplement",
    "SupplementKind",
    "TailChoice",
    "TailContext",
    "TailMemory",
    "TailPolicy",
    "Tier",
    "Trim",
    "become_aware",
    "choose_tail",
    "current_groups",
    "draw_budget",
    "facts_of",
    "find_faults",
    "find_tier",
    "group_messages",
    "heed_output",
    "outline",
    "plan",
    "plan_live",
    "report_adaptive",
    "report_awareness",
    "report_budget",
    "report_profile",
    "resolve_categories",
    "split_exchanges",
]
