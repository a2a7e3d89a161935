"""What may leave for which provider: classes of text, secrets, and the check of every byte before it goes."""

from .classes import CLASSES, Classification, highest
from .destination import Destination, find_destination
from .guard import Prepared, PrivacyGuard, Screened
from .hosts import is_loopback
from .placeholders import holds_placeholder, withheld
from .policy import PrivacySettings, RemoteProvider
from .report import Exclusion, PrivacyReport

__all__ = [
    "CLASSES",
    "Classification",
    "Destination",
    "Exclusion",
    "Prepared",
    "PrivacyGuard",
    "PrivacyReport",
    "PrivacySettings",
    "RemoteProvider",
    "Screened",
    "find_destination",
    "highest",
    "holds_placeholder",
    "is_loopback",
    "withheld",
]
