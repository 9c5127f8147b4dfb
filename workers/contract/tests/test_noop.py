"""No-op actions, recognised by name, and the default action of an operator, which is always legal."""

import unittest

from mosaic_contract.arena.actions import ActionRules
from mosaic_contract.noop import noop_action, noop_indices
from mosaic_contract.spaces import describe_space


class Discrete:
    shape, dtype = (), "int64"

    def __init__(self, n, start=0):
        self.n, self.start = n, start


class Text:
    def __init__(self, min_length, max_length, characters):
        self.min_length, self.max_length, self.characters = min_length, max_length, characters


class Stillness(unittest.TestCase):
    def test_what_does_nothing_comes_before_what_does_almost_nothing(self):
        assert noop_indices(["left", "done", "stay here", "No-Op"]) == [2, 3, 1]
        assert noop_indices(["push left", "no push", "push right"]) == [1]
        assert noop_indices(["no action", "move left"]) == [0]
        assert noop_indices(["pass the ball", "well done", "knoop", 7, ""]) == []

    def test_what_is_played_in_an_operators_place_is_legal_and_does_the_least(self):
        rules = ActionRules(Discrete(4, start=1), ["left", "done", "stay", "right"], True)
        assert rules.default(None) == (3, "stay (3)")
        assert rules.default([1, 1, 0, 1]) == (2, "done (2)")
        assert rules.default([0, 0, 0, 1]) == (4, "no action is known to do nothing: plays 4 (right)")
        assert ActionRules(Discrete(3), ["push left", "no push", "push right"], True).default(None)[0] == 1
        assert ActionRules(Discrete(2), None, True).default(None) == (
            0,
            "no action is known to do nothing: plays 0",
        )

    def test_of_texts_it_is_the_shortest_that_is_legal(self):
        for least, still in ((5, "     "), (1, " "), (0, "")):
            assert noop_action(describe_space(Text(least, 9, "ab ")), None, "").action == still
            assert ActionRules(Text(least, 9, "ab "), None, True).default(None) == (still, "still")
