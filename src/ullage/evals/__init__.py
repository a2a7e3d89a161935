"""Offline evaluation: how good the estimates and choices made here would have been on what was recorded."""
