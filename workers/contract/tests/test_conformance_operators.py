"""The conformance suite passes workers that act, and says of each bad one what is bad."""

import os
import unittest
from pathlib import Path
from unittest import mock

import mosaic_contract
from mosaic_contract.conformance import check_worker

PEERS = Path(__file__).parent / "peers"
CONTRACT = Path(mosaic_contract.__file__).parent.parent
ALL = ["discovery", "operating", "operating errors", "operating ends", "nothing left"]


class Conformance(unittest.TestCase):
    def check(self, wrong="", names=ALL, **options):
        environ = {"PYTHONPATH": f"{PEERS}{os.pathsep}{CONTRACT}", "ACTOR_MISBEHAVES": wrong}
        with mock.patch.dict(os.environ, environ):
            results = check_worker("actor", **{"grace": 10.0, "deadline": 60.0, **options})
        assert [result.name for result in results] == names
        self.details = {result.name: result.detail for result in results}
        return {result.name: result.detail for result in results if not result.passed}

    def test_a_good_worker_passes_without_a_configuration(self):
        assert self.check() == {}
        assert self.details["operating"] == "Discrete and Box and MultiDiscrete, 5 steps each"

    def test_an_answer_for_another_agent(self):
        failed = self.check("answers for another")
        assert set(failed) == {"operating"}
        assert "the answer is for another agent" in failed["operating"]

    def test_an_action_out_of_bounds(self):
        failed = self.check("leaves the space")
        assert set(failed) == {"operating"}
        assert "seen: 1.5 is out of bounds" in failed["operating"]

    def test_an_action_that_is_none(self):
        failed = self.check("answers with text")
        assert "seen: 'left' is not an action from 0 to 2" in failed["operating"]

    def test_whatever_an_arena_plays_is_an_action(self):
        assert self.check("answers with arrays") == {}

    def test_no_answer_meets_the_deadline(self):
        failed = self.check("says nothing", deadline=0.5)
        assert "action_selected within 0.5 s (select_action)" in failed["operating"]
        assert "no answer: still running" in failed["operating"]

    def test_prints_among_the_answers(self):
        failed = self.check("prints")
        assert set(failed) == {"operating"}
        assert "not JSON: b'loading weights...'" in failed["operating"]

    def test_settings_that_are_missing_and_where_they_belong(self):
        failed = self.check("needs settings")
        assert "no checkpoint was given" in failed["operating"]
        assert '"operate" in conformance.json' in failed["operating"]
        space = {"type": "Discrete", "shape": [], "dtype": "int64", "n": 5}
        config = {"operate": {"settings": {"checkpoint": "x"}, "action_space": space}}
        assert self.check("needs settings", config=config) == {}
        assert self.details["operating"] == "Discrete, 5 steps each"

    def test_a_hello_of_another_worker(self):
        assert "worker 'actor'" in self.check("is another worker")["operating"]

    def test_a_loop_that_an_error_ends(self):
        failed = self.check("dies of errors")
        assert set(failed) == {"operating errors"}
        assert "no answer: exit code 1" in failed["operating errors"]
        assert "JSONDecodeError" in failed["operating errors"], "the last log lines"

    def test_errors_without_a_type(self):
        assert "error_type" in self.check("gives no error_type")["operating errors"]

    def test_a_worker_that_stays_when_nothing_is_sent_to_it(self):
        failed = self.check("stays at the end of stdin", grace=1.0)
        assert set(failed) == {"operating ends"}
        assert "exit code 0 at the end of stdin" in failed["operating ends"]
        assert "still running after 1 s" in failed["operating ends"]

    def test_a_worker_that_ignores_sigterm(self):
        failed = self.check("ignores SIGTERM", grace=1.0)
        assert "exit code 143 after SIGTERM" in failed["operating ends"]

    @unittest.skipUnless(Path("/proc").exists(), "a child in a session of its own is found through /proc")
    def test_a_helper_that_stays(self):
        failed = self.check("leaves a helper")
        assert set(failed) == {"nothing left"}
        assert "sleep 600" in failed["nothing left"]

    def test_a_worker_must_be_good_for_something(self):
        names = ["discovery", "dry run", "bad configuration", "tiny training", "telemetry", "SIGTERM"]
        failed = self.check("is good for nothing", names=[*names, "nothing left"], deadline=1.0)
        assert "['arena', 'export', 'operate', 'train'] among the modes" in failed["discovery"]
        assert 'a configuration "tiny" in conformance.json' in failed["dry run"]
