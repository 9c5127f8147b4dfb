"""Spaces as JSON, told by the names of their classes."""

import json
import unittest

from mosaic_contract import BadMessage, describe_space, make_space, same_space


class Space:
    shape, dtype = None, None

    def __init__(self, **attributes):
        vars(self).update(attributes)


class Discrete(Space):
    shape, dtype = (), "int64"


class Text(Space):
    pass


class Dict(Space):
    pass


class Tuple(Space):
    pass


class Graph(Space):
    pass


class MissionSpace(Space):
    pass


class Moves(Discrete):
    """Somebody's own kind of Discrete."""


class Descriptions(unittest.TestCase):
    def test_of_discrete_spaces(self):
        expected = {"type": "Discrete", "shape": [], "dtype": "int64", "n": 4, "start": 0}
        assert describe_space(Discrete(n=4)) == expected
        assert describe_space(Discrete(n=4, start=-1)) == {**expected, "start": -1}
        assert describe_space(Moves(n=4)) == expected

    def test_of_nested_spaces(self):
        four = describe_space(Discrete(n=4))
        nested = Dict(spaces={"b": Tuple(spaces=(Discrete(n=4),)), 0: MissionSpace()})
        assert describe_space(nested) == {
            "type": "Dict",
            "spaces": {"b": {"type": "Tuple", "spaces": [four]}, "0": {"type": "MissionSpace"}},
        }

    def test_of_texts(self):
        text = describe_space(Text(max_length=9, characters="ba"))
        assert text == {"type": "Text", "max_length": 9, "characters": "ab"}

    def test_of_what_is_not_known(self):
        assert describe_space(Graph()) == {"type": "Graph"}

    def test_what_describes_no_space_is_refused(self):
        for description in ({"type": "Graph"}, {}, None, [1], {"type": ["Box"]}):
            with self.assertRaises(BadMessage):
                make_space(description)


class Sameness(unittest.TestCase):
    def box(self, **changes):
        return {"type": "Box", "shape": [2], "dtype": "float32", "low": -1.0, "high": 1.0, **changes}

    def test_a_space_is_the_same_as_itself(self):
        for one in (self.box(), {"type": "Dict", "spaces": {"a": self.box()}}, {"type": "Graph"}):
            assert same_space(one, json.loads(json.dumps(one)))

    def test_bounds_may_be_written_in_several_ways(self):
        assert same_space(self.box(high=[1.0, 1.0]), self.box())
        assert same_space(self.box(high="Infinity"), self.box(high=3.4028234663852886e38))
        assert same_space({"type": "Discrete", "n": 2}, {"type": "Discrete", "n": 2, "start": 0})

    def test_what_differs(self):
        for other in (
            self.box(shape=[3]), self.box(dtype="float64"), self.box(low=-2.0), self.box(high=[1.0, 2.0]),
            {"type": "Discrete", "n": 2},
        ):  # fmt: skip
            assert not same_space(self.box(), other)
        nested = [{"type": "Tuple", "spaces": [self.box(), self.box(low=low)]} for low in (-1.0, 0.0)]
        assert not same_space(*nested)
        assert not same_space({"type": "Tuple", "spaces": [self.box()]}, nested[0])
