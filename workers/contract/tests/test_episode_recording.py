"""Episode recordings: read back as recorded, also in several parts; unfinished episodes leave no file."""

from __future__ import annotations

import tempfile
import unittest
import zipfile
from pathlib import Path
from unittest import mock

try:
    import numpy as np
except ImportError:
    np = None
try:
    import resource
except ImportError:
    resource = None

from mosaic_contract import episode_recording
from mosaic_contract.episode_recording import (
    EpisodeRecorder,
    bytes_of,
    read_recording,
    recording_problem,
    sha256_of,
)

BOX = {"type": "Box", "shape": [2], "dtype": "float32", "low": 0.0, "high": 9.0}
SEEN = {
    "type": "Dict",
    "spaces": {"pair": BOX, "mission": {"type": "Text"}, "both": {"type": "Tuple", "spaces": [BOX, BOX]}},
}
CHOICE = {"type": "Discrete", "n": 3, "start": 0, "shape": [], "dtype": "int64"}
ABOUT = {"env_id": "E-v0", "observation_space": SEEN, "action_space": CHOICE}


def seen(step):
    return {"pair": [step, 0], "mission": "go" * step, "both": ([step, 1], [step, 2])}


@unittest.skipIf(np is None, "needs NumPy")
class EpisodeRecordings(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name, "observations")
        self.recorder = EpisodeRecorder(self.folder, ABOUT)

    def record(self, steps, truncated=False):
        self.recorder.begin(4, 7, seen(0))
        for step in range(1, steps + 1):
            self.recorder.step(step % 3, step / 2, False, False, seen(step))
        return self.recorder.end(truncated)

    def test_are_read_as_they_were_added(self):
        for size in (episode_recording._PART_BYTES, 60):  # in one part, and in several
            with mock.patch.object(episode_recording, "_PART_BYTES", size):
                made = self.record(20, truncated=True)
            path = self.folder / made["file"]
            self.assertEqual((made["steps"], made["sha256"]), (20, sha256_of(path)))
            described, columns = read_recording(path)
            self.assertEqual((described["env_id"], described["seed"], described["steps"]), ("E-v0", 7, 20))
            observations = columns["observations"]
            self.assertEqual(observations["pair"].dtype, np.float32)
            self.assertEqual(observations["pair"][:, 0].tolist(), list(range(21)))
            self.assertEqual(observations["mission"], ["go" * step for step in range(21)])
            self.assertEqual(observations["both"][1][20].tolist(), [20, 2])
            self.assertEqual(columns["actions"].tolist(), [step % 3 for step in range(1, 21)])
            self.assertEqual(columns["rewards"].tolist(), [step / 2 for step in range(1, 21)])
            self.assertEqual(columns["truncated"].tolist(), [False] * 19 + [True])
            self.assertFalse(columns["terminated"].any())

    def test_of_other_content_are_refused_with_a_sentence(self):
        path = self.folder / self.record(20)["file"]
        whole = path.read_bytes()
        start = whole.index(b"0/rewards.npy") + 200
        with zipfile.ZipFile(path) as file:
            parts = {name: file.read(name) for name in file.namelist()}
        for changed in (
            {"0/rewards.npy": parts["0/actions.npy"][:-8]},
            {"0/observations/pair.npy": parts["0/rewards.npy"]},
            {"recording.json": b"[]"},
            {"recording.json": b'{"steps": 0}'},
            None,
        ):
            if changed is None:
                path.write_bytes(whole[:start] + bytes(40) + whole[start + 40 :])
            else:
                with zipfile.ZipFile(path, "w") as file:
                    for name, content in {**parts, **changed}.items():
                        file.writestr(name, content)
            with self.assertRaisesRegex(ValueError, "4.npz is not a recording of an episode: "):
                read_recording(path)

    def test_of_unfinished_episodes_and_of_those_without_a_step_leave_no_file(self):
        self.assertIsNone(self.record(0))
        self.recorder.begin(5, 7, seen(0))
        self.recorder.discard()
        self.assertEqual(list(self.folder.iterdir()), [])

    @unittest.skipIf(resource is None, "needs limits of files")
    def test_fail_on_a_full_disk_and_leave_no_file(self):
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_FSIZE, limits)
        self.recorder.begin(0, 7, seen(0))
        for step in range(2000):
            self.recorder.step(0, np.sqrt(step), False, False, seen(step % 7))
        with self.assertRaises(OSError):
            self.recorder.end(False)
        self.recorder.begin(1, 7, seen(0))
        self.recorder.discard()
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_know_the_size_and_the_kinds_of_observations(self):
        self.assertEqual(bytes_of(SEEN), 3 * 8 + 400)
        graph = recording_problem("E-v0", {"agent_0": [{"type": "Graph"}, CHOICE]})
        self.assertIn("E-v0: a Graph cannot be recorded", graph)
        self.assertIn("has several agents (a, b)", recording_problem("E-v0", {"a": [], "b": []}))
        self.assertEqual(recording_problem("E-v0", {"agent_0": [SEEN, CHOICE]}), "")


if __name__ == "__main__":
    unittest.main()
