"""Policy queries: arrays in shared memory, and whether a query continues the current episode."""

import os
import unittest

import numpy as np
from mosaic_contract import BadMessage
from mosaic_contract.arrays import pack, unpack
from mosaic_contract.operator_server import OperatorServer
from mosaic_contract.policy_queries import PolicyQueries
from mosaic_contract.shared_values import SIZE_LIMIT, SharedValues, unnamed_file


class Memory(unittest.TestCase):
    def setUp(self):
        descriptor = unnamed_file()
        self.addCleanup(os.close, descriptor)
        self.descriptor, self.ours, self.theirs = (
            descriptor,
            SharedValues(descriptor),
            SharedValues(descriptor),
        )

    def test_has_the_arrays_of_any_value(self):
        small = {"image": np.arange(12, dtype=np.uint8).reshape(3, 4), "goals": (np.float64([1, np.nan]), 3)}
        large = {**small, "image": np.ones((2, 5000), np.float32), "empty": np.zeros((0, 3), np.int64)}
        for value in (small, large, small):
            read = self.theirs.read(self.ours.write(value))
            np.testing.assert_array_equal(read["image"], value["image"])
            self.assertEqual(read["image"].dtype, value["image"].dtype)
            np.testing.assert_array_equal(read["goals"][0], value["goals"][0])
            self.assertEqual(read["goals"][1], 3)
        self.ours.write({"image": np.zeros((2, 5000), np.float32)})
        np.testing.assert_array_equal(read["image"], small["image"])  # a copy

    def test_refuses_references_beyond_it_and_values_that_are_too_large(self):
        reference = self.ours.write(np.zeros(4))
        reference["__shared__"][2] = 1 << 20
        with self.assertRaisesRegex(BadMessage, "invalid reference to shared memory"):
            self.theirs.read(reference)
        with self.assertRaisesRegex(ValueError, "the maximum is 1024 MiB: split them into parts"):
            self.ours.write(np.broadcast_to(np.uint8(0), (SIZE_LIMIT + 1,)))


class Summing:
    """A recurrent policy: the action is the sum of the episode's observations so far."""

    def __init__(self, setup):
        self.total = 0

    def episode_begin(self, seed, episode_index):
        self.total = 0

    def select_action(self, observation):
        self.total += int(observation.sum())
        return self.total

    def queries(self):
        def action(xs, state):
            return xs.sum(1) + (0 if state is None else state)

        space = {"type": "Box", "shape": [2], "dtype": "float32", "low": 0, "high": 1}
        return PolicyQueries(space, {"action": action, "value": action}, state=lambda: self.total)


class Counting:
    """A policy whose action is the sum of an observation plus 1000 times the batch size."""

    def __init__(self, setup):
        self.space = {"type": "Box", "shape": [2], "dtype": "float32", "low": 0, "high": 1}

    def select_action(self, observation):
        return -1

    def queries(self):
        answers = {"action": lambda xs, state: xs.sum(1) + 1000 * len(xs)}
        return PolicyQueries(self.space, answers, memoryless=True)


class Selections(unittest.TestCase):
    """A memoryless policy computes actions in batches of one size, whatever the number of observations."""

    def test_of_one_and_of_many(self):
        server = OperatorServer(lambda: None, Counting)
        for player_id in "abc":
            server.perform({"cmd": "init_agent", "player_id": player_id})

        def select(observation):
            message = {"cmd": "select_action", "player_id": "a", "observation": pack(np.array(observation))}
            return server.perform(message)["action"]

        self.assertEqual(select([1, 2]), 16_003)
        together = {"cmd": "select_actions", "player_ids": ["a", "b", "c"]}
        observations = pack(np.array([[1, 2], [0, 1], [5, 5]]))
        answer = server.perform({**together, "observations": observations})
        self.assertEqual(unpack(answer["actions"]).tolist(), [16_003, 16_001, 16_010])
        unlike = [pack(np.array(observation)) for observation in ([1, 2], [0.0, 1], [1, 2, 3])]
        answer = server.perform({**together, "observations": unlike})
        self.assertEqual(answer["actions"], [16_003, 16_001, -1])
        self.assertEqual(select([1, 2, 3]), -1)  # another shape is passed to the operator's own select_action
        queries = Counting(None).queries()
        self.assertEqual(queries.select(np.ones((20, 2))).tolist(), [16_002] * 20)


class Queries(Memory):
    def ask(self, what, observation, alone):
        message = {"cmd": "query", "player_id": "a", "what": what, "alone": alone, "memory": self.descriptor}
        answer = self.server.perform({**message, "observation": self.ours.write(np.asarray(observation))})
        return self.ours.read(answer["answer"]) if "answer" in answer else answer["message"]

    def test_alone_follow_on_the_last_action_and_others_begin_an_episode(self):
        self.server = OperatorServer(lambda: None, Summing)
        ready = self.server.perform({"cmd": "init_agent", "player_id": "a"})
        self.assertEqual(ready["provides"], ["action", "value"])
        self.assertEqual(self.ask("action", [1, 2], True), 3)
        self.assertEqual(self.ask("value", [1, 2], True), 6)
        self.assertEqual(self.ask("value", [1, 2], True), 6)  # values do not advance the state
        self.assertEqual(self.ask("action", [1, 2], True), 6)
        self.assertEqual(self.ask("action", [[1, 2], [0, 1]], False).tolist(), [3, 1])
        self.server.perform({"cmd": "episode_begin", "player_id": "a"})
        self.assertEqual(self.ask("action", [1, 2], True), 3)
        self.assertIn("has no 'logits'; it has action, value", self.ask("logits", [1, 2], True))


if __name__ == "__main__":
    unittest.main()
