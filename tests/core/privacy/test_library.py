"""The patterns of detect-secrets: which are used, and that the anchors of each let through whatever it finds."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from ullage.core.privacy.library import NOT_TAKEN, PLUGINS, Plugin, library_rules, load_plugin
from ullage.core.privacy.scanning import find_suspects
from ullage.core.privacy.secrets import find_secrets


def test_every_plugin_of_the_library_is_used_or_known_not_to_be() -> None:
    from detect_secrets.core.plugins.util import get_mapping_from_secret_type_to_class

    there = {plugin.__name__ for plugin in get_mapping_from_secret_type_to_class().values()}
    assert there == {plugin.name for plugin in PLUGINS} | NOT_TAKEN


def test_every_pattern_is_a_rule_with_anchors_in_small_letters() -> None:
    rules = library_rules()
    assert len(rules) == sum(len(load_plugin(plugin).denylist) for plugin in PLUGINS)
    assert all(rule.anchors and all(anchor == anchor.lower() for anchor in rule.anchors) for rule in rules)


@pytest.mark.parametrize("plugin", PLUGINS, ids=lambda plugin: plugin.name)
@given(data=st.data())
@settings(deadline=None, max_examples=15, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
def test_what_a_plugin_finds_is_found_in_a_request(plugin: Plugin, data: st.DataObject) -> None:
    """A new version of the library whose patterns the anchors or signs do not fit fails here."""
    pattern = data.draw(st.sampled_from(list(load_plugin(plugin).denylist)))
    ascii_only = st.characters(max_codepoint=126, blacklist_characters="\n")
    found = pattern.search(data.draw(st.from_regex(pattern, alphabet=ascii_only)))
    assume(found is not None and len(found[0]) < 400)
    assert found is not None
    text = found[0]
    raw = json.dumps([text]).encode()
    assert [suspect.text for suspect in find_suspects(raw, secrets=True)] == [text]
    assert find_secrets(text)
