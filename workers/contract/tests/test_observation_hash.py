"""Observation hashes, which compare a replay with its recording."""

import unittest

from mosaic_contract.arena.observation_hash import observation_hash

try:
    import numpy
except ImportError:
    numpy = None


class ObservationHashes(unittest.TestCase):
    def test_depend_on_the_content_alone(self):
        observations = [7, 7.5, None, [1, 2], {"board": [1, 2], "text": "x"}, {"board": [1, 2], "text": "y"}]
        hashes = [observation_hash(observation) for observation in observations]
        self.assertEqual(len(set(hashes)), len(hashes))
        self.assertEqual(hashes[4], observation_hash({"board": (1, 2), "text": "x"}))

    def test_are_missing_for_objects_without_a_content(self):
        self.assertIsNone(observation_hash(object()))
        self.assertIsNone(observation_hash({"state": object()}))

    @unittest.skipIf(numpy is None, "needs NumPy")
    def test_of_arrays_do_not_depend_on_their_memory(self):
        array = numpy.arange(12, dtype="float32").reshape(3, 4)
        self.assertEqual(observation_hash(array.T), observation_hash(array.T.copy()))
        self.assertNotEqual(observation_hash(array), observation_hash(array + 1e-6))
        texts = [numpy.array(["one", "two"], dtype=object) for _ in range(2)]
        self.assertEqual(*map(observation_hash, texts))
        self.assertIsNone(observation_hash(numpy.array([object()])))
