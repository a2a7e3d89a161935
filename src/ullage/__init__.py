"""ullage: see, fit and steer what a coding agent sends to a model."""

from ._version import __version__

__all__ = ["__version__"]
