"""Streams and bodies of providers to the common events: one module per dialect."""
