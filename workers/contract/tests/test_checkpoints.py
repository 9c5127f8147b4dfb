"""Checkpoints: written completely or not at all, and validated before they are loaded or resumed."""

import errno
import io
import json
import signal
import tempfile
import threading
import unittest
import zipfile
from pathlib import Path
from unittest import mock

from mosaic_contract import Cancelled, ConfigError, Telemetry, TrainingConfig, decode_line
from mosaic_contract.checkpoints import (
    Checkpoints,
    loading,
    read_description,
    resume_misfits,
    spaces_of,
    write_whole,
)
from mosaic_contract.config import CheckpointConfig
from mosaic_contract.episode_logger import EpisodeLogger
from worker_processes import PATIENCE

FORMAT = "mosaic-peer/1"
TWO = {"type": "Discrete", "n": 2}
SPACES = {"observation_space": TWO, "action_space": TWO}
OF_THE_SHIM = {"format": FORMAT, "hyperparameters": {"width": 8, "noise": 0.5}, **SPACES}
DESCRIPTION = {**OF_THE_SHIM, "algorithm": "climb", "env_id": "Hill-v0", "seed": 1}


class CheckpointTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.stream = self.folder / "telemetry.jsonl"
        file = self.stream.open("wb")
        self.addCleanup(file.close)
        self.logger = EpisodeLogger(Telemetry("r", file.fileno()))

    def config(self, *, total_timesteps=1000, every=None, **hyperparameters):
        return TrainingConfig(
            *("r", "climb", "Hill-v0", 1, total_timesteps, self.folder, self.folder),
            checkpoint=CheckpointConfig(every),
            hyperparameters=hyperparameters,
        )

    def checkpoints(self, contents=lambda: b"weights", **config):
        config = self.config(**config)
        return Checkpoints(config, self.logger, OF_THE_SHIM, contents, suffix=".npy", format="torch")

    def saved(self):
        messages = map(decode_line, self.stream.read_bytes().splitlines())
        return [line["payload"] for line in messages if line.get("event") == "checkpoint_saved"]

    def files(self):
        return sorted(one.name for one in (self.folder / "checkpoints").iterdir())

    def checkpoint(self, **changes):
        self.checkpoints().save(7)
        path = self.folder / "checkpoints" / "step-7.npy"
        described = json.loads(path.with_suffix(".json").read_text())
        path.with_suffix(".json").write_text(json.dumps({**described, **changes}))
        return path


class Saving(CheckpointTest):
    def test_a_checkpoint_lies_beside_its_description_and_is_reported(self):
        self.logger.episode(3.0, 5, terminated=True, truncated=False, seconds=0.1, environment=0)
        self.checkpoints().save(40)
        path, described = read_description(self.folder / "checkpoints" / "step-40.npy", FORMAT, ["climb"])
        self.assertEqual(path.read_bytes(), b"weights")
        self.assertEqual(described, {**DESCRIPTION, "step": 40, "episodes": 1})
        (reported,) = self.saved()
        self.assertEqual(reported["checkpoint_path"], str(self.folder / "checkpoints" / "step-40.npy"))
        self.assertEqual((reported["step"], reported["metrics"]), (40, {"mean_episode_return": 3.0}))

    def test_a_step_is_saved_once_and_the_first_of_a_resumed_training_not_again(self):
        self.logger.steps = 40
        checkpoints = self.checkpoints()
        for step in (40, 50, 50):
            checkpoints.save(step)
        self.assertEqual([reported["step"] for reported in self.saved()], [50])

    def test_one_is_due_every_tenth_of_the_training_or_as_configured(self):
        for every, first in ((None, 100), (30, 30)):
            checkpoints = self.checkpoints(every=every)
            self.assertEqual([checkpoints.due(step) for step in (first - 1, first)], [False, True])
            checkpoints.save(first)
            self.assertFalse(checkpoints.due(first + first - 1))

    def test_a_full_disk_costs_the_checkpoint_and_not_the_training(self):
        checkpoints = self.checkpoints()
        full = OSError(errno.ENOSPC, "no space left on device")
        with self.assertLogs("mosaic_contract") as logged, mock.patch("os.fsync", side_effect=full):
            checkpoints.save(10)
        self.assertIn("no checkpoint at step 10: [Errno 28] no space left", logged.output[0])
        self.assertEqual(self.files(), [])
        checkpoints.save(10)
        unsaved = str(self.logger.telemetry.unsaved)
        self.assertIn("the checkpoint of the last step, 10, could not be saved: [Errno 28]", unsaved)
        checkpoints.save(20)
        self.assertIsNone(self.logger.telemetry.unsaved)
        self.assertEqual([reported["step"] for reported in self.saved()], [20])

    def test_no_description_is_left_of_a_checkpoint_that_was_not_written(self):
        full = OSError(errno.ENOSPC, "no space left on device")
        with self.assertLogs("mosaic_contract"), mock.patch("os.fsync", side_effect=[None, full]):
            self.checkpoints().save(10)
        self.assertEqual(self.files(), [])

    def test_a_stop_while_one_is_saved_does_not_cost_the_last_state(self):
        contents = mock.Mock(side_effect=[Cancelled(signal.SIGTERM), b"weights"])
        checkpoints = self.checkpoints(contents)
        with self.assertRaises(Cancelled):
            checkpoints.save(10)
        self.assertEqual(self.files(), [])
        checkpoints.save(10)
        self.assertEqual(self.files(), ["step-10.json", "step-10.npy"])
        self.assertEqual([reported["step"] for reported in self.saved()], [10])

    def test_a_step_that_another_thread_is_saving_is_saved_once(self):
        begun, go_on = threading.Event(), threading.Event()

        def contents():
            begun.set()
            go_on.wait(PATIENCE)
            return b"weights"

        checkpoints = self.checkpoints(contents)
        threads = [threading.Thread(target=checkpoints.save, args=(10,)) for _ in range(2)]
        for thread in threads:
            thread.start()
            begun.wait(PATIENCE)
        go_on.set()
        for thread in threads:
            thread.join(PATIENCE)
            self.assertFalse(thread.is_alive())
        self.assertEqual([reported["step"] for reported in self.saved()], [10])

    def test_a_file_is_replaced_as_a_whole_or_not_at_all(self):
        path = self.folder / "weights"
        write_whole(path, b"old")
        with self.assertRaises(OSError), mock.patch("os.fsync", side_effect=OSError):
            write_whole(path, b"new")
        self.assertEqual(path.read_bytes(), b"old")
        write_whole(path, b"new")
        self.assertEqual(path.read_bytes(), b"new")
        self.assertEqual({one.name for one in self.folder.iterdir()}, {"weights", "telemetry.jsonl"})


class Reading(CheckpointTest):
    def refusal(self, path, algorithms=("climb",)):
        with self.assertRaises(ConfigError) as caught:
            read_description(path, FORMAT, algorithms)
        return str(caught.exception)

    def test_what_is_no_checkpoint_of_the_worker_is_refused_with_the_reason(self):
        self.assertIn("there is no checkpoint", self.refusal(self.folder / "none.npy"))
        alone = self.folder / "alone.npy"
        alone.touch()
        self.assertIn("alone.json, which would describe it: No such file", self.refusal(alone))
        self.assertIn("is of the format 'theirs/1'", self.refusal(self.checkpoint(format="theirs/1")))
        self.assertIn("it lacks step, episodes", self.refusal(self.checkpoint(step="7", episodes=None)))
        self.assertIn("it is of 'climb', which this", self.refusal(self.checkpoint(), ["walk"]))
        for nothing in ({"action_space": None}, {"agents": {}}, {"agents": {"red": {}}}, {"agents": [1]}):
            self.assertIn("lacks the spaces", self.refusal(self.checkpoint(**nothing)))

    def test_a_damaged_file_is_refused_by_what_it_is(self):
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr("weights", bytes(range(256)))
        whole = file.getvalue()
        within = io.BytesIO()
        with zipfile.ZipFile(within, "w") as archive:
            archive.writestr("policy.pth", whole)
            archive.writestr("more", bytes(100))
        flipped = bytearray(whole)
        flipped[100] ^= 1
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("weights", bytes(10**6))
        path = self.checkpoint().with_suffix(".pt")
        for content, why in (
            (b"", "it is empty"),
            (whole[:-50], "it is damaged or incomplete (File is not a zip file)"),
            (within.getvalue()[:-250], "it is incomplete"),
            (flipped, "it is damaged, weights in it differs from its checksum"),
            (b"version https://git-lfs", "it begins with b'version https://git-lfs', not as a zip archive"),
            (file.getvalue(), "it would unpack to 1,000,000 bytes"),
        ):
            path.write_bytes(content)
            with self.subTest(why):
                self.assertIn(f"{path} cannot be loaded: {why}", self.refusal(path))
        path.write_bytes(whole)
        self.assertEqual(read_description(path, FORMAT, ["climb"])[0], path)

    def test_errors_of_a_library_while_it_loads_name_the_file(self):
        named = self.assertRaisesRegex(ConfigError, "^step-7 cannot be loaded: KeyError: 'module'$")
        with named, loading(Path("step-7")):
            raise KeyError("module")

    def test_a_folder_holds_its_description(self):
        folder = self.folder / "step-7"
        folder.mkdir()
        (folder / "description.json").write_text(json.dumps({**DESCRIPTION, "step": 7, "episodes": 2}))
        path, described = read_description(str(folder), FORMAT, ["climb"])
        self.assertEqual((path.name, described["episodes"]), ("step-7", 2))

    def test_spaces_are_those_of_each_agent(self):
        self.assertEqual(spaces_of(DESCRIPTION), {"agent_0": SPACES})
        self.assertEqual(
            spaces_of({"agents": {"red": SPACES, "blue": SPACES}}), {"red": SPACES, "blue": SPACES}
        )


class GoingOn(CheckpointTest):
    def misfits(self, *, step=7, env_id="Hill-v0", environment=None, **config):
        described = {**DESCRIPTION, "step": step, "env_id": env_id}
        path = Path("step-7.npy")
        return [*resume_misfits(self.config(**config), path, described, ["width"], environment)]

    def test_what_fits_may_leave_out_or_repeat_what_it_is_bound_to(self):
        self.assertEqual(self.misfits(), [])
        self.assertEqual(self.misfits(width=8, noise=0.1), [])

    def test_another_environment_fits_where_its_spaces_are_the_same(self):
        elsewhere = {"env_id": "Dale-v0"}
        self.assertEqual(self.misfits(**elsewhere, environment=SPACES), [])
        (width,) = self.misfits(**elsewhere, environment=SPACES, width=9)
        self.assertIn("was trained with width=8", width)
        larger = {**SPACES, "action_space": {"type": "Discrete", "n": 9}}
        (other,) = self.misfits(**elsewhere, environment=larger)
        self.assertIn("this run is of climb on Hill-v0: actions are Discrete(9), the policy was", other)
        (other,) = self.misfits(**elsewhere, environment={"agents": {"red": SPACES}})
        self.assertIn("its agents are red, the previous were agent_0", other)

    def test_what_does_not_fit_is_reported(self):
        (other,) = self.misfits(env_id="Dale-v0", width=9)
        self.assertIn("is of climb on Dale-v0, this run is of climb on Hill-v0", other)
        width, late = self.misfits(width=9, step=1000)
        self.assertIn("was trained with width=8, which it is bound to; this run has width=9", width)
        self.assertIn("was saved at step 1000; total_timesteps counts from the beginning and is 1000", late)
