"""What a calibration belongs to. Figures of different keys never meet."""

from __future__ import annotations

from msgspec import Struct


class Key(Struct, frozen=True, kw_only=True, order=True):
    """Provider, model and estimator, all exact; growth is learned per client too, since clients wrap what they send.

    `method` names what is learned and its version, `growth-v1` for one. An unknown provider or model is the empty string.
    """

    method: str
    provider: str
    model: str
    estimator: str
    client: str = ""
