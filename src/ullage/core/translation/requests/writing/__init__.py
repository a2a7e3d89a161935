"""The common form to the body of a request: one module per dialect."""
