"""What a source says of one model: under its exact id, else of the model that is most likely the same one.

Exact is the id as it is sent, at the provider it is sent to. Likely the same, and always marked, are: the same id with or without
its date; an id that the source files under another one's price; and the maker's own row, for a model that others serve (the maker
named before a slash, or found by the id). A name that only looks similar is never taken (routing specification, section 8.2).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from ullage.core.profiles import Layer, ModelFacts

from .providers import MAKERS, Provider, find_provider

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from ullage.core.profiles.facts import Source

    from .files import Catalogue

_DATE = re.compile(r"[-@.]v?(?:\d{8}|\d{4}-\d{2}-\d{2})$")
_VARIANT = ":"


class Question(NamedTuple):
    """Which model is asked for, and who serves it there. `row` is `None` for a provider that no row knows."""

    provider: str
    model: str
    row: Provider | None


def find_layers(source: Source, catalogue: Catalogue, question: Question) -> Iterator[Layer]:
    """What the catalogue says, exactly if it can; none where it knows nothing."""
    ids = provider_ids(source, question)
    as_of = catalogue.file.as_of
    for provider in ids:
        facts = catalogue.rows(provider).get(question.model)
        if facts is not None:
            yield Layer(source=source, facts=facts, exact=True, matched=question.model, as_of=as_of)
            return
    yield from _priced_as_another(source, catalogue, question)
    similar = _find_similar(source, catalogue, question)
    if similar is not None:
        yield Layer(source=source, facts=similar[1], exact=False, matched=similar[0], as_of=as_of)


def find_reported(models: Mapping[str, ModelFacts], model: str, as_of: str) -> Layer | None:
    """What a provider itself reported of this model, or of it with or without its date."""
    matched = model if model in models else find_dated(models, model)
    if matched is None:
        return None
    return Layer(source="provider", facts=models[matched], exact=matched == model, matched=matched, as_of=as_of)


def provider_ids(source: Source, question: Question) -> tuple[str, ...]:
    """The ids of the provider in this source; a name that no row knows may be its own."""
    if question.row is None:
        return (question.provider,)
    return question.row.litellm if source == "litellm" else question.row.genai


def find_dated(rows: Mapping[str, ModelFacts], model: str) -> str | None:
    """The id that is this one without its date, or for one without a date the newest that has one. Case does not count.

    Another date would be another version of the model, with limits and prices of its own.
    """
    wanted = model.lower()
    plain = undated(model)
    same = [name for name in rows if name.lower() == plain or undated(name) == wanted]
    return max(same, key=lambda name: (name.lower() == plain, name), default=None)


def undated(model: str) -> str:
    """The id in lower case, without a date at its end."""
    return _DATE.sub("", model.lower())


def _priced_as_another(source: Source, catalogue: Catalogue, question: Question) -> Iterator[Layer]:
    """An id that is filed under another one: its price is what the source says of it, the window is the other one's."""
    for provider in provider_ids(source, question):
        other = catalogue.file.aliases.get(provider, {}).get(question.model)
        facts = catalogue.rows(provider).get(other) if other is not None else None
        if other is not None and facts is not None:
            about_price = Layer(
                source=source,
                facts=ModelFacts(prices=facts.prices),
                exact=True,
                matched=other,
                as_of=catalogue.file.as_of,
            )
            yield about_price
            yield replace(about_price, facts=replace(facts, prices=None), exact=False)
            return


def _find_similar(source: Source, catalogue: Catalogue, question: Question) -> tuple[str, ModelFacts] | None:
    """The likely same model: the name of its row, with the provider if that is another, and the facts that hold here too."""
    model, variant, _ = question.model.partition(_VARIANT)
    for provider in provider_ids(source, question):
        rows = catalogue.rows(provider)
        matched = find_dated(rows, question.model)
        if matched is not None:
            return matched, rows[matched]
    priced = not variant and not (question.row and question.row.subscription)
    for maker, name in _makers(model):
        for provider in maker.litellm if source == "litellm" else maker.genai:
            rows = catalogue.rows(provider)
            matched = _find_at_maker(rows, name)
            if matched is not None:
                facts = rows[matched]
                return f"{provider}/{matched}", facts if priced else replace(facts, prices=None)
    return None


def _makers(model: str) -> Iterable[tuple[Provider, str]]:
    """Who may have made a model, and its id there: the maker named before the slash, else each of them."""
    prefix, slash, name = model.partition("/")
    named = find_provider(prefix) if slash else None
    if named is not None:
        return [(named, name)] if named.maker else []
    return [(maker, model) for maker in MAKERS]


def _find_at_maker(rows: Mapping[str, ModelFacts], name: str) -> str | None:
    """The row of this id; gateways write `claude-sonnet-4.5` where the maker has `claude-sonnet-4-5`."""
    for spelled in (name, name.replace(".", "-")):
        if spelled in rows:
            return spelled
    return find_dated(rows, name) or find_dated(rows, name.replace(".", "-"))
