"""Sending to providers: addresses, one HTTP transport, its errors translated once."""

from .client import Headers, UpstreamClient, UpstreamResponse, provider_of

__all__ = ["Headers", "UpstreamClient", "UpstreamResponse", "provider_of"]
