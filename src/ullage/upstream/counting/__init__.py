"""Count endpoints: which there are, what they take of a captured request, how their answers read."""

from .countable import Countable, make_countable
from .endpoints import ENDPOINTS, CountEndpoint, find_endpoint
from .requests import CountRequest, Coverage, bedrock_request, count_request, read_count

__all__ = [
    "ENDPOINTS",
    "CountEndpoint",
    "CountRequest",
    "Countable",
    "Coverage",
    "bedrock_request",
    "count_request",
    "find_endpoint",
    "make_countable",
    "read_count",
]
