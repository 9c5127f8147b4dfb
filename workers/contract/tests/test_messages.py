"""Protocol messages, written and read, and a worker's metadata and capabilities."""

import math
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from mosaic_contract import (
    BadMessage,
    CheckpointSaved,
    Episode,
    Metrics,
    RunCompleted,
    RunFailed,
    Step,
    UnknownMessage,
    WorkerCapabilities,
    WorkerMetadata,
    decode_line,
    describe_worker,
    encode_line,
    parse_message,
)
from mosaic_contract.messages import PROTOCOL, CheckpointLoaded, Heartbeat, RunCancelled, RunStarted

EVERY_KIND = [
    RunStarted("r", 1.5, "cleanrl", "ppo", "CartPole-v1", 1, {"a": 1}),
    Heartbeat("r", 1.5, 3, 100, 512.0, 99.0, 2),
    CheckpointSaved("r", 1.5, "checkpoints/1.pt", 3, 100, {"return": 1.0}, "torch"),
    CheckpointLoaded("r", 1.5, "checkpoints/1.pt"),
    Metrics("r", 1.5, 100, {"loss": 0.5}),
    RunCompleted("r", 1.5, 10, 200.0, 3.5, {"return": 20.0}),
    RunFailed("r", 1.5, "boom", "ValueError", "Traceback", 3, 100),
    RunCancelled("r", 1.5, "stopped by SIGTERM", 3, {"return": 1.0}),
    Step("r", 4, 2, "agent_0", [0, 1], 1.0, True, False, 42, 10**18),
    Episode("r", 2, 21.0, 200, True, False, 42, "agent_0", {"level": 1}, 0.5, 1000, 1.5),
]


class Messages(unittest.TestCase):
    def test_every_kind_survives_the_wire(self):
        for message in EVERY_KIND:
            assert parse_message(decode_line(encode_line(message.to_dict()))) == message

    def test_events_and_data_have_the_shape_of_the_protocol(self):
        event = Metrics("r", 1.5, 100, {"loss": 0.5}).to_dict()
        assert event == {
            "event": "metrics",
            "run_id": "r",
            "timestamp": 1.5,
            "payload": {"step": 100, "values": {"loss": 0.5}},
        }
        data = Episode("r", 0, 1.0, 5).to_dict()
        assert data["type"] == "episode" and data["total_reward"] == 1.0 and "payload" not in data
        assert RunStarted("r", 1.5).to_dict()["payload"]["protocol"] == PROTOCOL

    def test_a_worker_of_the_platform_is_read_with_what_it_sends(self):
        message = parse_message(
            {"event": "heartbeat", "run_id": "r", "timestamp": 1, "payload": {"step": 5, "mood": "good"}}
        )
        assert message == Heartbeat("r", 1.0, step=5)

    def test_not_finite_numbers_come_back_as_numbers(self):
        line = encode_line(Metrics("r", 1.0, 1, {"loss": math.nan}).to_dict())
        assert math.isnan(parse_message(decode_line(line)).values["loss"])

    def test_an_unknown_kind_is_its_own_error(self):
        for document in ({"event": "party"}, {"type": ["step"]}, {"hello": 1}):
            with self.assertRaises(UnknownMessage):
                parse_message(document)

    def test_a_missing_or_mistyped_field_is_named(self):
        good = Metrics("r", 1.0, 1, {"loss": 0.5}).to_dict()
        for change, text in (
            ({"timestamp": "now"}, "timestamp is not a number"),
            ({"payload": {"step": 1}}, "values is missing"),
            ({"payload": {"step": 1.5, "values": {}}}, "step is not an integer"),
            ({"payload": {"step": 1, "values": {"loss": "low"}}}, "values is not a number"),
            ({"payload": [1]}, "payload is not an object"),
        ):
            with self.assertRaisesRegex(BadMessage, text):
                parse_message({**good, **change})


class AboutTheWorker(unittest.TestCase):
    def test_metadata_and_capabilities_survive_json(self):
        about = WorkerMetadata("cleanrl", "0.1", upstream_library="cleanrl")
        able = WorkerCapabilities(algorithms=["ppo", "dqn"], env_families=["gymnasium"])
        assert WorkerMetadata.from_dict({**about.to_dict(), "new": 1}) == about
        assert WorkerCapabilities.from_dict({**able.to_dict(), "new": 1}) == able
        assert able.modes == ["train"]

    def test_a_worker_is_described_in_one_call(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(sys, "path", [folder, *sys.path]):
            installed = Path(folder, "walk_worker-0.3.dist-info")
            installed.mkdir()
            about = "Metadata-Version: 2.1\nName: walk-worker\nVersion: 0.3\nSummary: A walk.\n"
            (installed / "METADATA").write_text(about)
            libraries = "walk-worker, no-such-package"
            about, able = describe_worker(
                "walk", "walk-worker", upstream_library=libraries, modes=["operate"]
            )
            assert (about.name, about.version, about.description) == ("walk", "0.3", "A walk.")
            assert (about.upstream_version, able.modes) == ("0.3", ["operate"])
            with self.assertRaisesRegex(TypeError, "colour"):
                describe_worker("walk", "walk-worker", colour="red")

    def test_a_nameless_worker_is_refused(self):
        with self.assertRaisesRegex(ValueError, "name"):
            WorkerMetadata.from_dict({"version": "1"})
