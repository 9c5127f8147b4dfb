"""Valid actions of a space: arenas and the conformance suite agree, with NumPy and without."""

import json
import unittest

from mosaic_contract import encode_line, unpack
from mosaic_contract.action_reader import action_reader
from mosaic_contract.arena.actions import ActionRules
from mosaic_contract.arena.errors import Unusable
from mosaic_contract.conformance.operator_checks import problem_of_action

try:
    import numpy
except ImportError:
    numpy = None


def array(dtype, shape, data):
    return {"__ndarray__": {"dtype": dtype, "shape": shape, "data": data}}


THREE = {"type": "Discrete", "shape": [], "dtype": "int64", "n": 3, "start": 0}
BOX = {"type": "Box", "shape": [2], "dtype": "float32", "low": [-1.0, "-Infinity"], "high": 1.0}
PIXELS = {"type": "Box", "shape": [1, 2], "dtype": "uint8", "low": 0, "high": 255}
MULTI = {"type": "MultiDiscrete", "shape": [2], "dtype": "int64", "nvec": [2, 3], "start": [1, 0]}
BITS = {"type": "MultiBinary", "shape": [2], "dtype": "int8", "n": 2}
BOTH = {"type": "Dict", "spaces": {"go": THREE, "turn": {"type": "Tuple", "spaces": [BITS]}}}

TWO = array("int64", [], "AgAAAAAAAAA=")
ACTIONS = [  # the space, a value from the wire, and what is read
    (THREE, 2, 2),
    (THREE, 2.0, 2),
    (THREE, TWO, 2),
    (BOX, array("float32", [2], "AACAPwAAAMA="), [1.0, -2.0]),
    (BOX, [1.00001, 0], [1.0, 0]),  # float32 rounding may exceed the bounds slightly
    (PIXELS, [[0, 255]], [[0, 255]]),
    (MULTI, [2, 2.0], [2, 2]),
    (BITS, [1, False], [1, 0]),
    (BOTH, {"go": TWO, "turn": [[0, 1]]}, {"go": 2, "turn": [[0, 1]]}),
    ({"type": "Text"}, "left", "left"),
]
NOT_ACTIONS = [
    (THREE, 3, "3 is not an action from 0 to 2"),
    (THREE, True, "True is not an action"),
    (THREE, "1", "'1' is not an action"),
    (THREE, [1], "is not an action"),
    (THREE, 1.5, "1.5 is not an action"),
    (BOX, [1.5, 0.0], "1.5 is out of bounds, which are -1 and 1"),
    (BOX, [0.0, "-Infinity"], "'-Infinity' is not a number"),
    (BOX, array("float32", [2], "AACAfwAAAAA="), "inf is out of bounds"),
    (BOX, [10**400, 0], "is out of bounds"),
    (BOX, [1.0], "does not have the shape [2]"),
    (BOX, [[1.0], [0.0]], "[1.0] is not a number"),
    (BOX, 1.0, "1.0 does not have the shape [2]"),
    (PIXELS, [[0.5, 1]], "0.5 is not an integer"),
    (MULTI, [0, 2], "0 is out of bounds"),
    (BITS, [1, 2], "2 is out of bounds"),
    (BOTH, {"go": 1}, "is not a dict of actions for go, turn"),
    (BOTH, {"go": 1, "turn": []}, "is not a list of 1 actions"),
    (THREE, array("int64", [1], "AgAAAAAAAAA="), "is not an action"),
    (THREE, {"__ndarray__": {}}, "an array needs dtype"),
]


class Actions(unittest.TestCase):
    def test_values_that_are_actions(self):
        for space, value, read in ACTIONS:
            with self.subTest(space=space, value=value):
                self.assertEqual(action_reader(space)(unpack(value)), read)
                self.assertEqual(problem_of_action(value, space), "")

    def test_values_that_are_not(self):
        for space, value, why in NOT_ACTIONS:
            with self.subTest(space=space, value=value):
                self.assertIn(why, problem_of_action(value, space))

    @unittest.skipIf(numpy is None, "an arena has NumPy where its spaces need it")
    def test_an_arena_plays_what_the_suite_accepts_and_nothing_else(self):
        for space, value, *_ in [*ACTIONS, *NOT_ACTIONS]:
            with self.subTest(space=space, value=value):
                value = json.loads(encode_line({"value": value}))["value"]
                try:
                    action = ActionRules(_space(space), None, True).accept(unpack(value), None)
                    self.assertTrue(_space(space).contains(action))
                    played = True
                except (Unusable, ValueError):
                    played = False
                self.assertEqual(played, problem_of_action(value, space) == "")


class _Space:
    """The part of a Gymnasium space that an arena uses; `contains` knows NumPy's types."""

    def __init__(self, described):
        self.n, self.start = described.get("n"), described.get("start", 0)
        self.shape, self.dtype = tuple(described.get("shape", ())), numpy.dtype(described.get("dtype", "O"))
        for bound in ("low", "high"):
            if bound in described:
                values = numpy.array(described[bound]).astype("float64").astype(self.dtype)
                setattr(self, bound, numpy.broadcast_to(values, self.shape))
        if "nvec" in described:
            self.nvec, self.start = numpy.array(described["nvec"]), numpy.array(self.start)
        self.spaces = described.get("spaces", {})
        if isinstance(self.spaces, list):
            self.spaces = [_space(part) for part in self.spaces]
        else:
            self.spaces = {key: _space(part) for key, part in self.spaces.items()}

    def contains(self, action):
        if isinstance(action, tuple):
            return all(map(lambda space, part: space.contains(part), self.spaces, action))
        if isinstance(action, dict):
            return all(space.contains(action[key]) for key, space in self.spaces.items())
        if isinstance(action, numpy.ndarray):
            return action.shape == self.shape and action.dtype == self.dtype
        return isinstance(action, (int, str))


def _space(described):
    """Return a space whose class name is its type, by which an arena recognises it."""
    return type(described["type"], (_Space,), {})(described)
