"""The conformance suite passes workers that hold environments, and says of each bad one what is bad."""

import os
import unittest
from pathlib import Path
from unittest import mock

import mosaic_contract
from mosaic_contract.conformance import check_worker

PEERS = Path(__file__).parent / "peers"
CONTRACT = Path(mosaic_contract.__file__).parent.parent
ALL = ["discovery", "environments", "arena", "arena errors", "arena ends", "nothing left"]


class Conformance(unittest.TestCase):
    def check(self, wrong="", **options):
        environ = {"PYTHONPATH": f"{PEERS}{os.pathsep}{CONTRACT}", "STAGE_MISBEHAVES": wrong}
        with mock.patch.dict(os.environ, environ):
            results = check_worker("stage", **{"grace": 10.0, "deadline": 60.0, **options})
        assert [result.name for result in results] == ALL
        self.details = {result.name: result.detail for result in results}
        return {result.name: result.detail for result in results if not result.passed}

    def test_a_good_worker_passes_everything(self):
        assert self.check() == {}
        assert self.details["environments"] == "1 ids"
        assert self.details["arena"] == "Stage-v0: parallel, 2 agents, 5 steps"

    def test_a_worker_that_lists_nothing_names_what_to_play_in(self):
        assert '"environment" in conformance.json' in self.check("lists nothing")["environments"]
        assert self.check("lists nothing", config={"environment": "Stage-v0"}) == {}

    def test_an_environment_that_it_cannot_make(self):
        failed = self.check(config={"environment": "Stage-v9"})
        assert "opened within 60 s (open Stage-v9)" in failed["arena"] and "no such stage" in failed["arena"]

    def test_spaces_that_are_missing(self):
        assert "both spaces of left" in self.check("says no spaces")["arena"]

    def test_an_unknown_paradigm(self):
        assert "theatre" in self.check("has a paradigm of its own")["arena"]

    def test_a_reset_that_hangs_meets_the_deadline(self):
        failed = self.check("hangs at reset", deadline=2.0)
        assert set(failed) == {"arena"}
        assert "ready within 2 s (reset)" in failed["arena"]

    def test_an_episode_without_end(self):
        assert "the end of an episode of at most 5 steps" in self.check("never ends")["arena"]

    def test_a_seed_that_is_lost(self):
        assert "the episode's seed" in self.check("forgets the seed")["arena"]

    def test_a_worker_that_an_error_ends(self):
        failed = self.check("dies of errors")
        assert set(failed) == {"arena errors"}
        assert "no answer: exit code 1" in failed["arena errors"]

    def test_a_worker_that_stays_when_the_kernel_is_gone(self):
        failed = self.check("stays at the end of stdin", grace=1.0)
        assert set(failed) == {"arena ends"}
        assert "exit code 0 at the end of stdin" in failed["arena ends"]

    def test_frames_that_stay_in_shared_memory(self):
        failed = self.check("leaves its frames")
        assert set(failed) == {"nothing left"}
        assert "seen: that of lane-1 and lane-3" in failed["nothing left"]
