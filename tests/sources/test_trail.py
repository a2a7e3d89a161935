"""Paths through a tree of messages."""

from __future__ import annotations

from ullage.sources.trail import ROOT, Trail


def grown(*units: int) -> tuple[Trail, list[int]]:
    trail = Trail()
    nodes = []
    node = ROOT
    for unit in units:
        node = trail.append(node, unit)
        nodes.append(node)
    return trail, nodes


def test_a_path_leads_from_the_first_message_to_its_node() -> None:
    trail, nodes = grown(10, 11, 12)
    assert [trail.unit(node) for node in trail.path(nodes[-1])] == [10, 11, 12]
    assert [trail.unit(node) for node in trail.path(nodes[-1], above=2)] == [12]
    assert trail.path(ROOT) == []


def test_branches_share_what_lies_above_the_fork() -> None:
    trail, nodes = grown(10, 11, 12)
    branch = trail.append(trail.append(nodes[0], 20), 21)
    assert trail.common(nodes[-1], branch) == nodes[0]
    assert trail.common(nodes[-1], nodes[1]) == nodes[1]
    assert trail.common(nodes[-1], trail.append(ROOT, 30)) == ROOT


def test_depth_counts_messages() -> None:
    trail, nodes = grown(10, 11, 12)
    assert [trail.depth(node) for node in (ROOT, *nodes)] == [0, 1, 2, 3]
    assert trail.at_depth(nodes[-1], 1) == nodes[0]
    assert trail.at_depth(nodes[-1], 0) == ROOT


def test_repeated_messages_keep_their_own_losses_and_not_those_above() -> None:
    trail = Trail()
    lost = trail.append(ROOT, 10, lossy=True)
    sound = trail.append(lost, 11)
    assert trail.lossy(sound)
    assert not trail.lossy(sound, alone=True)
    assert not trail.lossy(trail.extend(ROOT, [sound]))
    assert trail.lossy(trail.extend(ROOT, [lost, sound]))
    assert not trail.lossy(ROOT)
