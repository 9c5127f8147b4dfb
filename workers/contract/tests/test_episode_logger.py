"""Episode logger: counts steps, reports every episode, the speed and the means of recent episodes."""

import os
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from mosaic_contract import Telemetry, decode_line
from mosaic_contract.episode_logger import EpisodeLogger


class Telling(unittest.TestCase):
    def setUp(self):
        file, name = tempfile.mkstemp()
        self.addCleanup(os.close, file)
        self.stream = Path(name)
        self.addCleanup(self.stream.unlink)
        self.logger = EpisodeLogger(Telemetry("r", file), 100)

    def lines(self):
        return [decode_line(line) for line in self.stream.read_bytes().splitlines()]

    def episode(self, returns, **more):
        ended = {"terminated": True, "truncated": False, "seconds": 0.5, "environment": 3}
        self.logger.episode(returns, 7, **{**ended, **more})

    def test_an_episode_of_one_agent(self):
        self.logger.step()
        self.episode(2.5)
        episode, metrics = self.lines()
        self.assertEqual(
            (episode["total_reward"], episode["steps"], episode["step"], episode["agent_id"]),
            (2.5, 7, 101, "agent_0"),
        )
        self.assertEqual((episode["metadata"], episode["duration_seconds"]), ({"environment": 3}, 0.5))
        self.assertEqual(metrics["payload"]["values"], {"episode_return": 2.5, "episode_length": 7.0})

    def test_an_episode_of_a_team_is_one_and_its_return_the_mean(self):
        self.episode({"red": 1.0, "blue": 2.0})
        self.episode({"red": 3.0, "blue": 4.0})
        lines = self.lines()
        reported = [
            (line["episode_index"], line["agent_id"]) for line in lines if line.get("type") == "episode"
        ]
        self.assertEqual(reported, [(0, "red"), (0, "blue"), (1, "red"), (1, "blue")])
        returns = [line["payload"]["values"]["episode_return"] for line in lines if "event" in line]
        self.assertEqual(returns, [1.5, 3.5])

    def test_the_end_has_the_mean_of_the_last_twenty_and_the_latest_of_everything(self):
        self.assertEqual(self.logger.final_metrics, {"steps": 100})
        for total in range(30):
            self.episode(float(total))
        self.logger.metrics({"loss": 0.5})
        self.assertEqual(self.logger.mean_return, {"mean_episode_return": sum(range(10, 30)) / 20})
        latest = {"episode_return": 29.0, "episode_length": 7.0, "loss": 0.5}
        self.assertEqual(self.logger.final_metrics, {"steps": 100, **self.logger.mean_return, **latest})

    def test_a_librarys_losses_are_reported_under_common_names_too(self):
        losses = {"policy_loss": ["*/actor_loss"]}
        logger = EpisodeLogger(self.logger.telemetry, 100, losses)
        written = []
        writer = mock.Mock(add_scalar=lambda *scalar: written.append(scalar))
        logger.library_metrics({"update": {"actor_loss": 1.5, "name": "adam"}}, writer, 7)
        (line,) = self.lines()
        self.assertEqual(line["payload"]["values"], {"update/actor_loss": 1.5, "policy_loss": 1.5})
        self.assertEqual(written, [("update/actor_loss", 1.5, 7)])

    def test_the_speed_is_reported_once_a_second(self):
        self.assertIsNone(self.logger.rate)
        with mock.patch("time.monotonic") as clock:
            clock.return_value = 0.0
            logger = EpisodeLogger(self.logger.telemetry, 100)
            for now in (0.4, 0.8, 1.25, 1.5, 2.25):
                clock.return_value = now
                logger.step()
        speeds = [line["payload"]["values"] for line in self.lines()]
        self.assertEqual(speeds, [{"steps_per_second": 2.4}, {"steps_per_second": 2.0}])
        self.assertEqual((logger.steps, logger.rate), (105, 2.0))
