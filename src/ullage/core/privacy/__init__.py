"""What may leave for which provider: classes of text, secrets, and the check of every byte before it goes.

`PrivacyGuard` is imported from `.guard`: it brings all that finds secrets, and most commands only need what settings are made of.
"""

from .classes import CLASSES, Classification, highest
from .destination import Destination, find_destination
from .hosts import is_loopback
from .placeholders import holds_placeholder, withheld
from .policy import PrivacySettings, RemoteProvider
from .report import Exclusion, PrivacyReport

__all__ = [
    "CLASSES",
    "Classification",
    "Destination",
    "Exclusion",
    "PrivacyReport",
    "PrivacySettings",
    "RemoteProvider",
    "find_destination",
    "highest",
    "holds_placeholder",
    "is_loopback",
    "withheld",
]
