"""Bodies of requests, decoded, to the common form: one module per dialect."""
