"""The tree of messages that a session file tells of, one node a message, kept in arrays."""

from __future__ import annotations

from array import array

ROOT = -1
"""The node above every first message: an empty conversation."""

_OWN, _ABOVE = 1, 2
"""Marks of a lossy message, and of one that has a lossy message above it."""


class Trail:
    """What was sent, as paths through a tree: each node is one message and knows the one before it.

    A conversation that goes on appends to its node. A branch appends to an older node, a compaction begins again at
    `ROOT` with the summary and the messages it kept. So every call needs one number, its last message, and two calls
    share what lies above their common node. A node costs 25 bytes.
    """

    def __init__(self) -> None:
        self._parents = array("q")
        self._units = array("q")
        self._lossy = array("b")
        self._depths = array("q")

    def append(self, parent: int, unit: int, *, lossy: bool = False) -> int:
        """Adds the message `unit` behind `parent` and returns its node. A lossy message makes all paths below lossy."""
        self._parents.append(parent)
        self._units.append(unit)
        self._lossy.append(_OWN * lossy | _ABOVE * self.lossy(parent))
        self._depths.append(self.depth(parent) + 1)
        return len(self._parents) - 1

    def extend(self, parent: int, nodes: list[int]) -> int:
        """Repeats the messages of `nodes` behind `parent`; returns the last node."""
        for node in nodes:
            parent = self.append(parent, self._units[node], lossy=bool(self._lossy[node] & _OWN))
        return parent

    def parent(self, node: int) -> int:
        return self._parents[node]

    def unit(self, node: int) -> int:
        return self._units[node]

    def depth(self, node: int) -> int:
        """Messages on the path that ends in `node`."""
        return 0 if node == ROOT else self._depths[node]

    def lossy(self, node: int, *, alone: bool = False) -> bool:
        """Whether a text on the path that ends in `node`, or of that message `alone`, is no longer in the file."""
        return node != ROOT and bool(self._lossy[node] & (_OWN if alone else _OWN | _ABOVE))

    def path(self, node: int, *, above: int = 0) -> list[int]:
        """The nodes that lead to `node`, first message first, without the first `above` of them."""
        nodes = []
        for _ in range(self.depth(node) - above):
            nodes.append(node)
            node = self._parents[node]
        nodes.reverse()
        return nodes

    def at_depth(self, node: int, depth: int) -> int:
        """The node of that depth on the path to `node`."""
        for _ in range(self.depth(node) - depth):
            node = self._parents[node]
        return node

    def common(self, one: int, other: int) -> int:
        """The last node that both paths pass."""
        depth = min(self.depth(one), self.depth(other))
        one, other = self.at_depth(one, depth), self.at_depth(other, depth)
        while one != other:
            one, other = self._parents[one], self._parents[other]
        return one
