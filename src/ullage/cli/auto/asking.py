"""What a command knows that asks where a session's next request would go, without a daemon: all is read from the store."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import click

from ullage.cli import records
from ullage.engine.health import Health
from ullage.engine.learning import Learning
from ullage.engine.previewing import Previewing, Standing
from ullage.engine.quota import Quotas, make_quota_rules

from .place import candidates_of

if TYPE_CHECKING:
    from ullage.cli.route_models import Found
    from ullage.core.routing.filtering import Candidate
    from ullage.settings import Settings
    from ullage.stores import Reader

    from .place import Place


class Asking(NamedTuple):
    """Where the session stands, who could take its next request, and the way to ask."""

    previewing: Previewing
    standing: Standing
    found: Found

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        return self.found.candidates


def open_asking(place: Place) -> Asking:
    """What is to be said of the candidates is said. Raises `StoreError`, and `InputError` where nobody can be reached."""
    learning = Learning(place.store, explore=place.settings.routing.explore)
    learning.read(records.now_ms())
    quotas = recall_quotas(place.settings, place.store)
    health = Health(place.store)
    previewing = Previewing(place.settings, place.store, learning=learning, quotas=quotas, health=health)
    found = candidates_of(place)
    for note in found.notes:
        click.echo(f"ullage: Note: {note}", err=True)
    return Asking(previewing, previewing.stand(place.session), found)


def recall_quotas(settings: Settings, store: Reader) -> Quotas:
    """What the daemon has kept of quotas, a few seconds ago at most."""
    return Quotas(make_quota_rules(settings.routing.quota), store)
