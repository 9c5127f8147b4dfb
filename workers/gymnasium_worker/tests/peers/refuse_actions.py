"""Actions for Gymnasium's own spaces: converted to the space's type, or refused."""

import warnings

import numpy as np
from gymnasium import spaces
from mosaic_contract import BadMessage, make_space, pack, unpack
from mosaic_contract.arena.actions import ActionRules
from mosaic_contract.arena.errors import Unusable

BOX, BYTES, NUMBER = spaces.Box(-1, 1, (2,)), spaces.Box(0, 255, (2,), np.uint8), spaces.Box(-1, 1, ())
MULTI, BINARY = spaces.MultiDiscrete([3, 4], start=[1, 0]), spaces.MultiBinary(3)
NESTED = spaces.Dict(a=spaces.Discrete(3, start=-1), b=spaces.Tuple([BOX, BINARY]))
MASK = (np.array([0, 1, 1], np.int8), np.array([0, 1, 0, 0], np.int8))  # for MULTI: 2 or 3, then 1

PLAYED = [
    (spaces.Discrete(3), np.array(1), 1),
    (spaces.Discrete(3), 2.0, 2),
    (BOX, [0.5, 1.00001], [0.5, 1.0]),
    (BOX, np.array([0.1, -0.1]), np.float32([0.1, -0.1])),
    (BYTES, [3.0, 255], [3, 255]),
    (NUMBER, 0.5, 0.5),
    (NUMBER, np.array(0.5), 0.5),
    (MULTI, (3, 0), [3, 0]),
    (BINARY, [True, False, 1], [1, 0, 1]),
]
REFUSED = [
    *((spaces.Discrete(3), value) for value in (3, -1, 1.5, True, None, "1", [1], np.array([1]))),
    *((BOX, value) for value in ([1.1, 0], [0], [[0, 0]], [float("nan"), 0], [float("inf"), 0], "ab", None)),
    *((BYTES, value) for value in ([3.7, 5], [-1, 5], [256, 5])),
    *(
        (MULTI, value)
        for value in ([0, 0], [1.5, 0], [10**30, 0], [[1, 0]], [float("nan"), 0], {}, [None, 0])
    ),
    *((BINARY, value) for value in ([0, 2, 1], [0, 1])),
    *(
        (NESTED, value)
        for value in ({"a": 0}, {"a": 0, "b": [[0, 0]]}, {"a": 5, "b": [[0, 0], [0, 0, 0]]}, 5)
    ),
]


def refuses(rules, value, mask=None):
    try:
        rules.accept(unpack(pack(value)), mask)
    except Unusable:
        return True
    return False


warnings.simplefilter("error")
for space, value, expected in PLAYED:
    action = ActionRules(space, None, True).accept(unpack(pack(value)), None)
    assert space.contains(action) and np.array_equal(action, expected), (space, value, action)
for space, value in REFUSED:
    assert refuses(ActionRules(space, None, True), value), (space, value)

action = ActionRules(NESTED, None, True).accept({"a": -1, "b": [[0, 1], [0, 0, 1]]}, None)
assert NESTED.contains(action), action

rules = ActionRules(MULTI, None, True)
assert rules.accept([2, 1], MASK).tolist() == [2, 1]
assert refuses(rules, [1, 1], MASK) and refuses(rules, [2, 2], MASK)
assert not refuses(ActionRules(MULTI, None, False), [1, 1], MASK)
for space in (BOX, BYTES, NUMBER, MULTI, BINARY, NESTED):
    assert space.contains(ActionRules(space, None, True).default(None)[0]), space
assert rules.default(MASK)[0].tolist() == [2, 1]

try:
    make_space({"type": "Box", "shape": [50_000, 50_000], "dtype": "float32", "low": 0, "high": 1})
    raise AssertionError("10 GB for a description of 80 bytes")
except BadMessage as error:
    assert "larger than" in str(error), error
print("done")
