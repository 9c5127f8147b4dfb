"""The conformance suite passes a good worker, and says of each bad one what is bad."""

import json
import os
import subprocess
import sys
import unittest
from pathlib import Path
from unittest import mock

import mosaic_contract
from mosaic_contract.conformance import check_worker, format_report, run_conformance

PEERS = Path(__file__).parent / "peers"
CONTRACT = Path(mosaic_contract.__file__).parent.parent
ALL = ["discovery", "dry run", "bad configuration", "tiny training", "telemetry", "SIGTERM", "nothing left"]


class Conformance(unittest.TestCase):
    def check(self, wrong="", **options):
        environ = {"PYTHONPATH": f"{PEERS}{os.pathsep}{CONTRACT}", "PEER_MISBEHAVES": wrong}
        with mock.patch.dict(os.environ, environ):
            results = check_worker("peer", **{"grace": 10.0, "deadline": 60.0, **options})
        assert [result.name for result in results] == ALL
        return {result.name: result.detail for result in results if not result.passed}

    def test_a_good_worker_passes_everything(self):
        assert self.check() == {}

    def test_garbage_on_stdout(self):
        failed = self.check("prints garbage")
        assert set(failed) == {"telemetry"}
        assert "not JSON: b'loading weights...'" in failed["telemetry"]

    def test_a_worker_that_ignores_sigterm(self):
        failed = self.check("ignores SIGTERM", grace=1.0)
        assert set(failed) == {"SIGTERM"}
        assert "seen: still running after 1 s" in failed["SIGTERM"]

    def test_a_worker_that_dies_of_sigterm_without_a_word(self):
        failed = self.check("dies of SIGTERM")
        assert set(failed) == {"SIGTERM"}
        assert "expected: exit code 143" in failed["SIGTERM"]
        assert "seen: ended by SIGTERM" in failed["SIGTERM"]

    @unittest.skipUnless(Path("/proc").exists(), "a child in a session of its own is found through /proc")
    def test_a_grandchild_that_stays(self):
        failed = self.check("leaves a grandchild")
        assert set(failed) == {"nothing left"}
        assert failed["nothing left"].count("sleep 600") == 2

    def test_frames_that_stay_in_shared_memory(self):
        failed = self.check("leaves its frames")
        assert set(failed) == {"nothing left"}
        assert "seen: that of long and tiny" in failed["nothing left"]

    def test_exit_0_without_a_terminal_event(self):
        failed = self.check("exits 0 without a word")
        assert set(failed) == {"tiny training", "telemetry"}
        assert "exactly one terminal event, run_completed\nseen: []" in failed["tiny training"]

    def test_two_terminal_events(self):
        failed = self.check("ends twice")
        assert set(failed) == {"tiny training", "telemetry", "SIGTERM"}

    def test_a_worker_that_accepts_any_configuration(self):
        failed = self.check("accepts anything")
        assert "bad configuration" in failed
        assert "expected: exit code 2 unknown hyperparameter" in failed["bad configuration"]
        assert "seen: exit code 0" in failed["bad configuration"]

    def test_a_training_that_crashes_shows_its_log(self):
        failed = self.check("crashes")
        assert "seen: exit code 1" in failed["tiny training"]
        assert "RuntimeError: the walk has no legs" in failed["tiny training"]
        assert "exit code 1 before SIGTERM" in failed["SIGTERM"]

    def test_a_training_that_hangs_meets_the_deadline(self):
        failed = self.check("hangs", deadline=1.0)
        assert "still running after 1 s" in failed["tiny training"]
        assert "metrics or an episode within 1 s" in failed["SIGTERM"]

    def test_metadata_that_imports_upstream(self):
        failed = self.check("imports upstream")
        assert set(failed) == {"discovery"}
        assert "peer_upstream" in failed["discovery"]

    def test_a_command_that_does_not_exist(self):
        results = run_conformance(
            ["/no/such/python", "-m", "peer_worker.cli"], config={"tiny": {}}, python="/no"
        )
        assert not any(result.passed for result in results)
        assert "cannot be run" in format_report(results)


class CommandLine(unittest.TestCase):
    def call(self, *arguments):
        return subprocess.run(
            [sys.executable, "-m", "mosaic_contract.conformance", *arguments],
            env={**os.environ, "PYTHONPATH": f"{PEERS}{os.pathsep}{CONTRACT}"},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def test_one_json_object_a_check(self):
        done = self.call("peer", "--json")
        assert done.returncode == 0, done.stdout + done.stderr
        results = [json.loads(line) for line in done.stdout.splitlines()]
        assert [result["name"] for result in results] == ALL

    def test_an_unknown_worker_names_the_known(self):
        done = self.call("pear")
        assert done.returncode == 2 and "it has:" in done.stderr and "peer" in done.stderr
