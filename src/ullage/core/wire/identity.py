"""What a request says of who its client is, for providers that are not the client's own."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from .jsontext import decode
from .options import REMOVED

if TYPE_CHECKING:
    from .conversation import Conversation
    from .options import Path

# Ids of users and sessions, and labels of the client's own account. Gemini's labels are for the bills of Google's cloud.
_NAMES = ("user", "safety_identifier", "metadata", "client_metadata", "session_id", "labels")
_CACHE_KEY = "prompt_cache_key"
_HASH_BYTES = 16


def without_identity(conversation: Conversation, recipient: str) -> dict[Path, Any]:
    """The members to set or remove so that `recipient`, a provider, is not told who asks.

    The cache key stays a key, or its requests would meet on other machines than those that are warm: it is replaced by a hash of
    itself and the recipient, the same for the same session, and another one at every provider.
    """
    options: dict[Path, Any] = {(name,): REMOVED for name in _NAMES if name in conversation.options}
    raw = conversation.options.get(_CACHE_KEY)
    key = decode(raw) if raw is not None else None
    if isinstance(key, str) and key:
        options[_CACHE_KEY,] = _hashed(key, recipient)
    elif raw is not None:
        options[_CACHE_KEY,] = REMOVED
    return options


def _hashed(key: str, recipient: str) -> str:
    said = f"{recipient}\n{key}".encode("utf-8", "surrogatepass")
    return hashlib.blake2b(said, digest_size=_HASH_BYTES).hexdigest()
