"""Names that stand for the router, where nobody can be chosen: they are never sent on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ullage.core.errors import RequestError, RoutingError

from .listing import describe

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ullage.engine import Endpoint, Engine

_READS = frozenset({"GET", "HEAD"})


async def answer_virtual(
    engine: Engine, method: str, endpoint: Endpoint, headers: Mapping[str, str], body: bytes
) -> bytes | None:
    """What is told of such a name to a client that asks what it is; `None` where the request is about nothing of the kind.

    Raises `RequestError` where there is nobody to choose from, so that there is no such model, and `RoutingError` for anything
    else that is asked of the name and is no request for an answer: embeddings, a batch, a file.
    """
    names = engine.virtual_models
    asked = names.asked_about(endpoint.path) if method in _READS else None
    if asked is not None and endpoint.model is None:
        if not await engine.virtual_names(endpoint.dialect, headers):
            raise RequestError(
                f"there is no model yet that {asked} could stand for",
                code="no_route",
                hint="`ullage doctor` says which provider lacks a key.",
            )
        return describe(endpoint.dialect, asked)
    astray = names.find_astray(endpoint, headers, body)
    if astray is not None:
        raise RoutingError(
            f"{astray} stands for models that answer a conversation; nobody is chosen for {endpoint.path}",
            code="not_routable",
            hint="Name a model of the provider that this is to go to.",
        )
    return None
