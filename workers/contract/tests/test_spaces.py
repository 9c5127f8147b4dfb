"""Description of spaces as JSON, by their class names."""

import unittest

from mosaic_contract import BadMessage, describe_space, make_space


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
    """A user's subclass of Discrete."""


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
        text = describe_space(Text(min_length=5, max_length=9, characters="ba"))
        assert text == {"type": "Text", "min_length": 5, "max_length": 9, "characters": "ab"}

    def test_of_what_is_not_known(self):
        assert describe_space(Graph()) == {"type": "Graph"}

    def test_what_describes_no_space_is_refused(self):
        for description in ({"type": "Graph"}, {}, None, [1], {"type": ["Box"]}):
            with self.assertRaises(BadMessage):
                make_space(description)
