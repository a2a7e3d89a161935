"""All settings: their records, the layers they come from, and the paths they decide. The only reader of the environment."""

from ullage.core.privacy.hosts import is_loopback

from .catalog import Setting, catalog, record_settings, sections
from .load import Loaded, check_file, debug_wanted, environment, load_file, load_settings, try_text
from .orders import ORDERS
from .paths import Paths
from .provenance import Problem, Source
from .records import (
    AccountingSettings,
    ModelSettings,
    ServerSettings,
    Settings,
    StoreSettings,
    UpstreamSettings,
)
from .tables import TABLES, header_of
from .upstreams import (
    DEFAULT_UPSTREAMS,
    is_own_address,
    parse_upstream_flag,
    provider_root,
    resolve_upstreams,
)

__all__ = [
    "DEFAULT_UPSTREAMS",
    "ORDERS",
    "TABLES",
    "AccountingSettings",
    "Loaded",
    "ModelSettings",
    "Paths",
    "Problem",
    "ServerSettings",
    "Setting",
    "Settings",
    "Source",
    "StoreSettings",
    "UpstreamSettings",
    "catalog",
    "check_file",
    "debug_wanted",
    "environment",
    "header_of",
    "is_loopback",
    "is_own_address",
    "load_file",
    "load_settings",
    "parse_upstream_flag",
    "provider_root",
    "record_settings",
    "resolve_upstreams",
    "sections",
    "try_text",
]
