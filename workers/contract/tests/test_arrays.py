"""Arrays in messages: decoded without NumPy, and refused if malformed; and the derivation of seeds."""

import json
import unittest
from unittest import mock

from mosaic_contract import BadMessage, arrays, derive_seed, operator_seed, pack, unpack

FOUR = {"dtype": "float32", "shape": [2], "data": "AACAPwAAAMA="}  # 1.0 and -2.0


class WithoutNumPy(unittest.TestCase):
    def setUp(self):
        without = mock.patch.object(arrays, "_numpy", lambda: None)
        without.start()
        self.addCleanup(without.stop)

    def read(self, **changes):
        return unpack({"__ndarray__": {**FOUR, **changes}})

    def test_arrays_arrive_as_nested_lists(self):
        assert self.read() == [1.0, -2.0]
        assert self.read(shape=[2, 1]) == [[1.0], [-2.0]]
        assert self.read(dtype="uint8", shape=[2, 2, 2]) == [[[0, 0], [128, 63]], [[0, 0], [0, 192]]]
        assert self.read(shape=[], data="AACAPw==") == 1.0
        assert self.read(dtype="bool", shape=[3], data="AQAB") == [True, False, True]
        assert self.read(shape=[2, 0, 3], data="") == [[], []]

    def test_they_arrive_inside_other_things(self):
        reported = {
            "image": {"__ndarray__": FOUR},
            "words": ["a", None, 1.5, {"deep": [{"__ndarray__": FOUR}]}],
        }
        assert unpack(reported) == {"image": [1.0, -2.0], "words": ["a", None, 1.5, {"deep": [[1.0, -2.0]]}]}

    def test_what_is_no_array_is_refused(self):
        for changes, said in (
            ({"dtype": "object"}, "dtype (one of bool, int8"),
            ({"dtype": ["float32"]}, "dtype (one of bool, int8"),
            ({"shape": [3]}, "of shape [3] and dtype float32 has 12 bytes, not 8"),
            ({"shape": [-1]}, "the shape of an array"),
            ({"shape": [1.0]}, "the shape of an array"),
            ({"shape": [True]}, "the shape of an array"),
            ({"shape": "2"}, "the shape of an array"),
            ({"shape": [1] * 33}, "the shape of an array"),
            ({"shape": [1 << 24, 2]}, "134217728 bytes; the maximum is 67108864"),
            ({"shape": [1 << 26, 0], "data": ""}, "the maximum is"),
            ({"data": "AACAPwAAAM"}, "not base64"),
            ({"data": "é"}, "not base64"),
            ({"data": 5}, "not base64"),
            ({"data": "AACA"}, "has 8 bytes, not 3"),
        ):
            with self.assertRaises(BadMessage) as caught:
                self.read(**changes)
            assert said in str(caught.exception), caught.exception
        for value in ("text", None, [], {"dtype": "float32"}):
            with self.assertRaises(BadMessage):
                unpack({"__ndarray__": value})

    def test_nesting_beyond_reason_is_refused(self):
        deep = []
        for _ in range(100_000):
            deep = [deep]
        with self.assertRaises(BadMessage):
            unpack(deep)

    def test_what_holds_no_arrays_stays_as_it_is(self):
        plain = {"text": "é", "list": [1, 2.5, True, None], "__ndarray__": 1, "more": {}}
        assert unpack(pack(plain)) == plain
        assert pack((1, (2, [3]))) == [1, [2, [3]]]


class Seeds(unittest.TestCase):
    def test_derived_seeds_are_the_same_everywhere(self):
        assert derive_seed(42, "operator/agent_0") == 2508792647
        assert derive_seed(42, "operator/agent_1") != derive_seed(42, "operator/agent_0")
        assert derive_seed(43, "operator/agent_0") != derive_seed(42, "operator/agent_0")

    def test_operators_that_exchange_their_agents_draw_other_numbers(self):
        pairs = [(operator, agent) for operator in ("a", "b", "a/b") for agent in ("a", "b", "b/a")]
        seeds = {operator_seed(42, operator, agent) for operator, agent in pairs}
        assert len(seeds) == len(pairs)
        assert operator_seed(42, "random", "agent_0") == 2606323648

    def test_they_fit_into_32_bits(self):
        seeds = {derive_seed(seed, "space/x") for seed in range(1000)}
        assert len(seeds) == 1000 and all(0 <= seed < 1 << 32 for seed in seeds)
        assert json.loads(json.dumps(max(seeds))) == max(seeds)
