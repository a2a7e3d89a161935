"""What others publish of models, windows and prices above all: kept on disk, refreshed in the background, never waited for.

`keeping` is the daemon's task, `refreshing` the work itself; neither is needed to ask.
"""

from .catalogs import Catalogs, load_now, open_catalogs

__all__ = ["Catalogs", "load_now", "open_catalogs"]
