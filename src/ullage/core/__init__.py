"""The pure core: synchronous, typed, deterministic; no I/O, no clock, no environment."""
