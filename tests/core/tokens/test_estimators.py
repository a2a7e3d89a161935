from __future__ import annotations

import sys

import pytest

from ullage.core.errors import CallError
from ullage.core.tokens import ESTIMATORS, get_estimator


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_named_estimator_carries_its_name_and_counts_nothing_for_no_text(name: str) -> None:
    estimator = get_estimator(name)
    assert estimator.name == name
    assert estimator.text("") == 0


def test_an_unknown_estimator_is_refused_with_the_known_names() -> None:
    with pytest.raises(CallError, match="chars-v2") as caught:
        get_estimator("chars-v2")
    assert "chars-v1" in caught.value.hint


def test_characters_outside_the_basic_plane_count_two_units() -> None:
    chars = get_estimator("chars-v1")
    assert chars.text("\N{GRINNING FACE}" * 2) == 1
    assert chars.text("\N{GRINNING FACE}" * 3) == 2


def test_the_tokenizer_library_is_not_imported_until_something_is_counted() -> None:
    import subprocess

    code = (
        "import sys, ullage.core.tokens as t; t.get_estimator('chars-v1').text('a');sys.exit('splintr' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
