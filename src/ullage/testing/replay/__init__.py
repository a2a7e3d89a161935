"""Recorded sessions replayed as live traffic: what a gateway would have known of every call before it was answered."""

from .driver import Replayed, replay, send_traffic
from .traffic import RecordedExchange, make_stand_in, recorded_traffic

__all__ = ["RecordedExchange", "Replayed", "make_stand_in", "recorded_traffic", "replay", "send_traffic"]
