"""Requests: out of each dialect, settled for a target, into each dialect."""
