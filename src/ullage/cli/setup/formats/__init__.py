"""Small changes to configuration files that belong to somebody else: each format edits text, so all the rest stays as it is."""

from .base import Format, Key, UnfitError, Value, shown
from .dotenv_text import Dotenv
from .json_text import Json
from .toml_text import Toml
from .yaml_text import Yaml

FORMATS: dict[str, Format] = {kind.name: kind for kind in (Json(), Toml(), Yaml(), Dotenv())}

__all__ = ["FORMATS", "Dotenv", "Format", "Json", "Key", "Toml", "UnfitError", "Value", "Yaml", "shown"]
