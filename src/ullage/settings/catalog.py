"""Every setting by its dotted key, read off the records: type, default, meaning, and what is allowed in plain words."""

from __future__ import annotations

import math
from functools import cache
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec
from msgspec import Meta, Struct, inspect

from .records import Settings
from .upstreams import ADDRESS_SECRETS, DEFAULT_UPSTREAMS, SHORT_NAMES, UPSTREAM_NAMES, provider_root

UPSTREAMS = "upstreams"


class Setting(Struct, frozen=True, kw_only=True):
    """One setting. `allowed` completes the sentence "it must be …"."""

    key: str
    type: Any
    default: Any
    meaning: str
    allowed: str

    @property
    def section(self) -> str:
        """The TOML table the setting is written in; empty at the top."""
        return self.key.rpartition(".")[0]

    @property
    def name(self) -> str:
        return self.key.rpartition(".")[2]

    @property
    def variable(self) -> str:
        """The environment variable that sets it."""
        return "ULLAGE_" + self.key.replace(".", "__").replace("-", "_").upper()


@cache
def catalog() -> dict[str, Setting]:
    """All settings in the order of the records. `upstreams` has one entry per name it takes."""
    return {setting.key: setting for setting in (*record_settings(Settings), *upstream_settings())}


@cache
def variables() -> dict[str, str]:
    """The key that each environment variable sets."""
    return {setting.variable: setting.key for setting in catalog().values()}


@cache
def sections() -> dict[str, str]:
    """Each section's TOML table and what it is about, in the order of the records. The top comes first, under an empty name."""
    return {"": "At the top of the file.", **record_sections(Settings)}


def record_sections(record: type[Struct], prefix: str = "") -> dict[str, str]:
    described: dict[str, str] = {}
    for field in msgspec.structs.fields(record):
        below = struct_of(field.type)
        if below is not None:
            described[prefix + field.name] = meaning_of(field.type) or (below.__doc__ or "").strip()
            described |= record_sections(below, f"{prefix}{field.name}.")
        elif field.name == UPSTREAMS:
            described[field.name] = meaning_of(field.type)
    return described


def convert(setting: Setting, value: Any, *, lenient: bool) -> Any:
    """A value as the setting's type; `lenient` reads numbers, truth values and lists, with commas, from text.

    Raises `ValueError` with the reason.
    """
    if lenient and isinstance(value, str) and is_list(setting.type):
        value = [part.strip() for part in value.split(",") if part.strip()]
    try:
        converted = msgspec.convert(value, setting.type, strict=not lenient)
    except msgspec.ValidationError as error:
        raise ValueError(f"{setting.key} must be {setting.allowed}, not {shown(value)}.") from error
    if isinstance(converted, float) and math.isnan(converted):
        raise ValueError(f"{setting.key} must be {setting.allowed}, not nan.")
    if not all(
        encodable(text) for text in (converted if is_list(setting.type) else (converted,)) if isinstance(text, str)
    ):
        raise ValueError(f"{setting.key} must be UTF-8 text, not {shown(value)}.")
    return provider_root(converted) if setting.section == UPSTREAMS else converted


def encodable(text: str) -> bool:
    """Whether a text is Unicode: the environment may hold any bytes, which Python hands on as lone surrogates."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


def example_of(setting: Setting) -> str:
    """A hint with a value that would do; without a default, what else there is to do."""
    if setting.default in (None, "", msgspec.NODEFAULT):
        return "Correct it, or take it out."
    return f"For example {setting.default if isinstance(setting.default, str) else shown(setting.default)}."


def shown(value: Any) -> str:
    """A value for a message, cut where it is long. What may be an address with a password in it is not repeated."""
    if any(sign in str(value) for sign in ADDRESS_SECRETS):
        return "an address that may hold a password"
    if isinstance(value, tuple | list):
        text = f"[{', '.join(map(shown, value))}]"
    else:
        text = str(value).lower() if isinstance(value, bool) else repr(value) if isinstance(value, str) else str(value)
    return text if len(text) <= 60 else text[:59] + "…"


def record_settings(record: type[Struct], prefix: str = "") -> list[Setting]:
    found: list[Setting] = []
    for field in msgspec.structs.fields(record):
        below = struct_of(field.type)
        if below is not None:
            found.extend(record_settings(below, f"{prefix}{field.name}."))
        elif not is_table(field.type):
            found.append(
                Setting(
                    key=prefix + field.name,
                    type=field.type,
                    default=field.default,
                    meaning=meaning_of(field.type),
                    allowed=choices_of(field.type) or allowed_of(inspect.type_info(field.type)),
                )
            )
    return found


def struct_of(annotation: Any) -> type[Struct] | None:
    """The record that a section is declared by; `None` for a value.

    Read off the annotation: `msgspec.inspect` would translate all that is below it, again at each level.
    """
    bare = bare_of(annotation)
    return bare if get_origin(bare) is None and isinstance(bare, type) and issubclass(bare, Struct) else None


def is_table(annotation: Any) -> bool:
    """Whether the names below are the user's own, or records in a list: no single value. Names with numbers are one."""
    bare = bare_of(annotation)
    if get_origin(bare) is dict:
        return bare_of(get_args(bare)[1]) is not float
    return get_origin(bare) is tuple and struct_of(get_args(bare)[0]) is not None


def is_list(annotation: Any) -> bool:
    """Whether a setting is a list of texts."""
    return get_origin(bare_of(annotation)) is tuple


def bare_of(annotation: Any) -> Any:
    """A type without what is said about it."""
    return get_args(annotation)[0] if get_origin(annotation) is Annotated else annotation


def upstream_settings() -> list[Setting]:
    return [
        Setting(
            key=f"{UPSTREAMS}.{name}",
            type=str,
            default=DEFAULT_UPSTREAMS.get(name) if name not in SHORT_NAMES else None,  # type: ignore[call-overload]
            meaning=upstream_meaning(name),
            allowed="an http or https address",
        )
        for name in UPSTREAM_NAMES
    ]


def upstream_meaning(name: str) -> str:
    if name in SHORT_NAMES:
        return "Short for " + " and ".join(f"`{dialect}`" for dialect in SHORT_NAMES[name]) + "."
    return f"Root of the provider that answers `{name}` requests."


def meaning_of(annotation: Any) -> str:
    """What is said about a type; of several words the last one."""
    said = get_args(annotation)[1:] if get_origin(annotation) is Annotated else ()
    return next((one.description for one in reversed(said) if isinstance(one, Meta) and one.description), "")


def choices_of(annotation: Any) -> str:
    """The values of a `Literal`, or of one that may be left out, in the order they were declared, which `msgspec.inspect` loses;
    empty for another type."""
    bare = bare_of(annotation)
    if get_origin(bare) is tuple:
        words = choices_of(get_args(bare)[0]).removeprefix("one of ")
        return f"a list of {words}" if words else ""
    alternatives = get_args(bare) if get_origin(bare) in (Union, UnionType) else (bare,)
    values = [value for one in alternatives if get_origin(one) is Literal for value in get_args(one)]
    if not values:
        return ""
    return ("one of " if len(values) > 1 else "") + ", ".join(values)


def allowed_of(kind: inspect.Type) -> str:
    """What a type lets in, in plain words. Raises `TypeError` for a type that no setting has used so far."""
    match kind:
        case inspect.Metadata(type=inner, extra_json_schema=schema):
            examples = (schema or {}).get("examples")
            return "one of " + ", ".join(examples) if examples else allowed_of(inner)
        case inspect.BoolType():
            return "true or false"
        case inspect.IntType():
            return "a whole number" + range_of(kind)
        case inspect.FloatType():
            return "a number" + range_of(kind)
        case inspect.StrType():
            return "text"
        case inspect.VarTupleType(item_type=inspect.StrType()):
            return "a list of texts"
        case inspect.UnionType(types=types):
            return " or ".join(allowed_of(one) for one in types if not isinstance(one, inspect.NoneType))
        case inspect.DictType(value_type=value):
            return f"a table of names, each with {allowed_of(value)}"
        case inspect.AnyType():
            return "a table, a list or a value"
        case _:
            raise TypeError(f"no words for {kind}")


def range_of(kind: inspect.IntType | inspect.FloatType) -> str:
    highest = "to" if kind.ge is not None else "and at most"
    bounds = (("from", kind.ge), ("above", kind.gt), (highest, kind.le))
    return "".join(f" {word} {bound}" for word, bound in bounds if bound is not None)
