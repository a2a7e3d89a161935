"""Processes that the benchmarks start: a canned provider, the thin pass-through, and measuring tools."""
