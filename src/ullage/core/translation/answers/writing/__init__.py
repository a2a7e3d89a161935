"""The common events to streams and bodies for clients: one module per dialect."""
