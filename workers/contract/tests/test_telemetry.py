"""A worker's telemetry stream: complete lines, one terminal event, and no error that stops the training."""

import json
import os
import tempfile
import threading
import unittest
from pathlib import Path
from unittest import mock

from mosaic_contract import Telemetry, decode_line, parse_message, write_analytics


class Stream(unittest.TestCase):
    def setUp(self):
        file, name = tempfile.mkstemp()
        self.path = Path(name)
        self.addCleanup(self.path.unlink)
        self.addCleanup(os.close, file)
        self.telemetry = Telemetry("r", file)

    def messages(self):
        return [parse_message(decode_line(line)) for line in self.path.read_bytes().splitlines()]

    def test_progress_is_carried_from_what_was_written(self):
        self.telemetry.metrics(100, {"loss": 0.5})
        self.telemetry.episode(total_reward=10.0, steps=20, step=120)
        self.telemetry.episode(total_reward=5.0, steps=10)
        self.telemetry.heartbeat(100.0, 50.0)
        self.telemetry.checkpoint_saved("checkpoints/1.pt", format="torch")
        self.telemetry.run_completed({"return": 7.5})
        _, first, second, beat, saved, end = self.messages()
        assert (first.episode_index, first.step, second.episode_index, second.step) == (0, 120, 1, 120)
        assert (beat.step, beat.episode) == (120, 2)
        assert (saved.step, saved.episode, saved.checkpoint_path) == (120, 2, "checkpoints/1.pt")
        assert (end.episodes, end.total_reward, end.final_metrics) == (2, 15.0, {"return": 7.5})

    def test_agents_of_one_episode_share_its_index(self):
        for agent in ("a", "b"):
            self.telemetry.episode(total_reward=1.0, steps=5, episode_index=0, agent_id=agent)
        assert self.telemetry.episodes == 1
        assert [m.agent_id for m in self.messages()] == ["a", "b"]

    def test_exactly_one_terminal_event_whatever_comes_after(self):
        self.telemetry.run_failed(ValueError("boom"))
        self.telemetry.run_completed()
        self.telemetry.run_cancelled("late")
        self.telemetry.metrics(1, {"loss": 0.0})
        (end,) = self.messages()
        assert (end.error, end.error_type) == ("boom", "ValueError") and "ValueError: boom" in end.traceback
        assert self.telemetry.finished

    def test_the_end_is_written_even_if_its_results_are_not_writable(self):
        self.telemetry.run_completed({"model": object(), "return": 1.0})
        (end,) = self.messages()
        assert end.KIND == "run_completed" and end.final_metrics == {}

    def test_an_endless_error_text_still_fits_in_a_line(self):
        self.telemetry.run_failed("x" * (5 << 20), traceback="y" * (5 << 20))
        (end,) = self.messages()
        assert end.error.startswith("xxx") and end.traceback.endswith("yyy")

    def test_a_line_that_cannot_be_written_is_counted_and_reported(self):
        self.telemetry.metrics(2, {"m" * (2 << 20): 0.0})
        self.telemetry.heartbeat()
        (beat,) = self.messages()
        assert beat.dropped_lines == 1

    def test_the_numbers_of_a_row_are_kept_and_what_is_left_out_is_named_once(self):
        cyclic = {"again": 1.0}
        cyclic["self"] = cyclic
        row = {
            "loss": 0.4,
            "phase": "warmup",
            "eval": {"return": 3, "by_seed": {"1": True}},
            "scale": 1j,
            "per_agent": [1.0, 2.0],
            "none": None,
            "worst": float("-inf"),
        }
        with self.assertLogs("mosaic_contract") as logged:
            written = [self.telemetry.metrics(step, row) for step in (1, 2)]
            self.telemetry.metrics(3, cyclic)
            self.telemetry.metrics(4, {"phase": "main"})
        expected = {"loss": 0.4, "eval/return": 3, "eval/by_seed/1": 1, "worst": float("-inf")}
        first, second, third = self.messages()
        assert first.values == second.values == written[0] == written[1] == expected
        assert third.values["self/self/again"] == 1.0
        named = [line for line in logged.output if "self" not in line]
        assert [line.split("metric ")[1].split(" is")[0] for line in named] == [
            "'phase'",
            "'scale'",
            "'per_agent'",
            "'none'",
        ]
        assert named[0].endswith("metric 'phase' is left out: 'warmup' is not a number")

    def test_a_value_in_a_hundred_thousand_lists_is_left_out(self):
        deep = 1.0
        for _ in range(100_000):
            deep = [deep]
        with self.assertLogs("mosaic_contract") as logged:
            assert self.telemetry.metrics(1, {"loss": 0.5, "deep": deep}) == {"loss": 0.5}
        assert logged.output[0].endswith("metric 'deep' is left out: <list> is not a number")

    def test_the_names_of_what_is_left_out_are_bounded(self):
        with self.assertLogs("mosaic_contract") as logged:
            self.telemetry.metrics(1, {f"text {index}": "a" for index in range(5_000)})
        assert len(logged.output) == 101

    def test_timestamps_never_go_back_when_the_clock_does(self):
        self.telemetry.heartbeat()
        with mock.patch("time.time", return_value=0.0):
            self.telemetry.heartbeat()
        before, after = (m.timestamp for m in self.messages())
        assert before <= after < before + 60

    def test_threads_write_whole_lines_in_the_order_of_their_timestamps(self):
        def work(name):
            for step in range(300):
                self.telemetry.metrics(step, {name: step, "pad" * 100: 0.0})

        threads = [threading.Thread(target=work, args=(f"m{n}",)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        messages = self.messages()
        assert len(messages) == 2400
        times = [m.timestamp for m in messages]
        assert times == sorted(times)

    def test_a_forked_child_writes_nothing(self):
        child = os.fork()
        if child == 0:
            self.telemetry.metrics(1, {"loss": 0.0})
            self.telemetry.run_failed("the child's own trouble")
            os._exit(0)
        os.waitpid(child, 0)
        self.telemetry.run_completed()
        assert [m.KIND for m in self.messages()] == ["run_completed"]


class FullDevice(unittest.TestCase):
    def test_lines_are_dropped_while_nothing_can_be_written_and_the_stream_recovers(self):
        reader, writer = os.pipe()
        os.set_blocking(writer, False)  # a full pipe fails as a full disk does: after a partial write
        telemetry = Telemetry("r", writer)
        for step in range(100):
            telemetry.metrics(step, {"loss": 0.5, "pad" * 3000: 1.0})
        assert telemetry.dropped_lines > 0
        os.set_blocking(reader, False)
        received = self.drain(reader)
        telemetry.heartbeat()
        telemetry.run_completed()
        received += self.drain(reader)
        os.close(reader)
        os.close(writer)
        messages = [parse_message(decode_line(line)) for line in received.splitlines()]
        assert [m.KIND for m in messages[-2:]] == ["heartbeat", "run_completed"]
        assert messages[-2].dropped_lines == telemetry.dropped_lines
        assert len(messages) - 2 + telemetry.dropped_lines == 100

    def drain(self, reader):
        data = b""
        while True:
            try:
                chunk = os.read(reader, 1 << 20)
            except BlockingIOError:
                return data
            data += chunk

    @unittest.skipUnless(Path("/dev/full").exists(), "needs /dev/full")
    def test_a_full_disk_under_a_stream_raises_nothing(self):
        full = os.open("/dev/full", os.O_WRONLY)
        self.addCleanup(os.close, full)
        telemetry = Telemetry("r", full)
        telemetry.metrics(1, {"loss": 0.5})
        telemetry.run_completed()
        assert telemetry.dropped_lines == 2


class Manifest(unittest.TestCase):
    def test_artifacts_are_named_relative_to_the_run_folder(self):
        with tempfile.TemporaryDirectory() as folder:
            run = Path(folder)
            path = write_analytics(
                run,
                run_id="r",
                worker_type="cleanrl",
                tensorboard_dir=run / "tensorboard",
                checkpoints_dir="checkpoints",
                checkpoints=[run / "checkpoints" / "1.pt", "checkpoints/2.pt"],
                checkpoint_format="torch",
                videos_dir=Path("/elsewhere/videos"),
                metadata={"source": "git"},
            )
            manifest = json.loads(path.read_text())
            artifacts = manifest["artifacts"]
            assert manifest["run_id"] == "r" and manifest["metadata"] == {"source": "git"}
            assert artifacts["tensorboard"] == {"log_dir": "tensorboard", "enabled": True}
            assert artifacts["wandb"]["enabled"] is False
            assert artifacts["checkpoints"]["files"] == ["checkpoints/1.pt", "checkpoints/2.pt"]
            assert artifacts["checkpoints"]["final_checkpoint"] == "checkpoints/2.pt"
            assert artifacts["videos_dir"] == "/elsewhere/videos"
            assert [p.name for p in run.iterdir()] == ["analytics.json"]
