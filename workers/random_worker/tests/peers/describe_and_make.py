"""Describe Gymnasium spaces, pass the descriptions through JSON, and make equal spaces from them."""

import numpy
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Text, Tuple
from mosaic_contract import decode_line, describe_space, encode_line, make_space

SPACES = [
    Discrete(3),
    Discrete(3, start=-1),
    Box(-1.0, 1.0, (2, 3)),
    Box(numpy.array([-numpy.inf, 0.1], "f4"), numpy.array([5.5, numpy.inf], "f4")),
    Box(0, 255, (4, 4, 3), numpy.uint8),
    Box(-3.0, 3.0, (), numpy.float64),
    MultiDiscrete([2, 3]),
    MultiDiscrete([[2, 3], [4, 5]], start=numpy.array([[1, 1], [1, 1]])),
    MultiBinary(4),
    MultiBinary([2, 3]),
    Tuple([Discrete(2), Box(0.0, 1.0, (1,))]),
    Dict({"b": Discrete(2), "a": Dict({"c": MultiBinary(1)})}),
    Text(8, min_length=5, charset="abc"),
]

for space in SPACES:
    description = decode_line(encode_line(describe_space(space)))
    made = make_space(description)
    assert made == space, (space, description, made)
    assert decode_line(encode_line(describe_space(made))) == description
    assert space.contains(made.sample()), description

MISSION = {"type": "MissionSpace"}  # of MiniGrid, which is not installed here
missions = make_space(MISSION)
assert describe_space(missions) == MISSION and missions.contains("go to the red door")
print(len(SPACES), "spaces")
