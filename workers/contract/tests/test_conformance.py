"""Conformance suite: good workers pass every check, and each defect of a bad worker is reported."""

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
PATHS = f"{PEERS}{os.pathsep}{Path(mosaic_contract.__file__).parent.parent}"
TRAINING = [
    "discovery",
    "dry run",
    "bad configuration",
    "tiny training",
    "telemetry",
    "SIGTERM",
    "nothing left",
]
OPERATING = ["discovery", "operating", "operating errors", "operating ends", "nothing left"]
ARENA = ["discovery", "environments", "arena", "arena errors", "arena ends", "nothing left"]

# A worker's defect, the options of the run, and for each check that must fail the words in its report.
BAD_TRAININGS = [
    (
        "prints garbage, ignores SIGTERM, leaves a grandchild",
        {"grace": 1.0},
        {
            "telemetry": ["not JSON: b'loading weights...'"],
            "SIGTERM": ["seen: still running after 1 s"],
            "nothing left": ["sleep 600", "sleep 600"],
        },
    ),
    (
        "imports upstream, dies of SIGTERM, leaves its frames",
        {},
        {
            "discovery": ["peer_upstream"],
            "SIGTERM": ["expected: exit code 143", "seen: ended by SIGTERM"],
            "nothing left": ["seen: that of long and tiny"],
        },
    ),
    (
        "exits 0 without a word",
        {},
        {"tiny training": ["exactly one terminal event, run_completed\nseen: []"], "telemetry": []},
    ),
    ("ends twice", {}, {"tiny training": [], "telemetry": [], "SIGTERM": []}),
    (
        "accepts anything",
        {},
        {
            "bad configuration": ["expected: exit code 2 unknown hyperparameter", "seen: exit code 0"],
            "tiny training": [],
            "telemetry": [],
            "SIGTERM": [],
        },
    ),
    (
        "crashes",
        {},
        {
            "tiny training": ["seen: exit code 1", "RuntimeError: the walk has no legs"],
            "telemetry": [],
            "SIGTERM": ["exit code 1 before SIGTERM"],
        },
    ),
    (
        "hangs",
        {"deadline": 1.0},
        {
            "tiny training": ["still running after 1 s"],
            "telemetry": [],
            "SIGTERM": ["metrics or an episode within 1 s"],
        },
    ),
]
BAD_OPERATORS = [
    (
        "answers for another, dies of errors, stays at the end of stdin",
        {"grace": 1.0},
        {
            "operating": ["the answer is for another agent"],
            "operating errors": ["no answer: exit code 1", "JSONDecodeError"],  # the last log lines
            "operating ends": ["exit code 0 at the end of stdin", "still running after 1 s"],
        },
    ),
    (
        "leaves the space, gives no error_type, ignores SIGTERM",
        {"grace": 1.0},
        {
            "operating": ["seen: 1.5 is out of bounds"],
            "operating errors": ["error_type"],
            "operating ends": ["exit code 143 after SIGTERM"],
        },
    ),
    (
        "answers with text, leaves a helper",
        {},
        {"operating": ["seen: 'left' is not an action from 0 to 2"], "nothing left": ["sleep 600"]},
    ),
    (
        "says nothing",
        {"deadline": 0.5},
        {"operating": ["action_selected within 0.5 s (select_action)", "no answer: still running"]},
    ),
    ("prints", {}, {"operating": ["not JSON: b'loading weights...'"]}),
    ("needs settings", {}, {"operating": ["no checkpoint was given", '"operate" in conformance.json']}),
    ("is another worker", {}, {"operating": ["worker 'actor'"]}),
]
BAD_ARENAS = [
    (
        "lists nothing",
        {},
        {"environments": ['"environment" in conformance.json'], "arena": [], "arena ends": []},
    ),
    (
        "",
        {"config": {"environment": "Stage-v9"}},
        {"arena": ["opened within 60 s (open Stage-v9)", "no such stage"], "arena ends": []},
    ),
    (
        "says no spaces, dies of errors",
        {},
        {"arena": ["both spaces of left"], "arena errors": ["no answer: exit code 1"]},
    ),
    (
        "has a paradigm of its own, stays at the end of stdin",
        {"grace": 1.0},
        {"arena": ["theatre"], "arena ends": ["exit code 0 at the end of stdin"]},
    ),
    ("hangs at reset", {"deadline": 2.0}, {"arena": ["ready within 2 s (reset)"]}),
    (
        "never ends, leaves its frames",
        {},
        {
            "arena": ["the end of an episode of at most 5 steps"],
            "nothing left": ["seen: that of lane-1 and lane-3"],
        },
    ),
    ("forgets the seed", {}, {"arena": ["the episode's seed"]}),
]
HIDING = ("leaves a grandchild", "leaves a helper")


class Conformance(unittest.TestCase):
    def check(self, worker, wrong="", names=None, **options):
        environ = {"PYTHONPATH": PATHS, f"{worker.upper()}_MISBEHAVES": wrong}
        with mock.patch.dict(os.environ, environ):
            results = check_worker(worker, **{"grace": 10.0, "deadline": 60.0, **options})
        expected = names or {"peer": TRAINING, "actor": OPERATING, "stage": ARENA}[worker]
        assert [result.name for result in results] == expected
        self.details = {result.name: result.detail for result in results}
        return {result.name: result.detail for result in results if not result.passed}

    def check_all(self, worker, bad):
        for wrong, options, expected in bad:
            if wrong.endswith(HIDING) and not Path("/proc").exists():
                continue  # a child in its own session can only be found through /proc
            with self.subTest(wrong):
                failed = self.check(worker, wrong, **options)
                assert set(failed) == set(expected), failed
                for name, texts in expected.items():
                    assert all(failed[name].count(one) >= texts.count(one) for one in texts), failed[name]

    def test_good_workers_pass_everything(self):
        for worker, details in (
            ("peer", {}),
            ("actor", {"operating": "Discrete and Box and MultiDiscrete, 5 steps each"}),
            ("stage", {"environments": "1 ids", "arena": "Stage-v0: parallel, 2 agents, 5 steps"}),
        ):
            assert self.check(worker) == {}
            assert details.items() <= self.details.items()

    def test_bad_trainings(self):
        self.check_all("peer", BAD_TRAININGS)

    def test_bad_operators(self):
        self.check_all("actor", BAD_OPERATORS)

    def test_bad_arenas(self):
        self.check_all("stage", BAD_ARENAS)

    def test_a_command_that_does_not_exist(self):
        command = ["/no/such/python", "-m", "peer_worker.cli"]
        results = run_conformance(command, config={"tiny": {}}, python="/no")
        assert not any(result.passed for result in results)
        assert "cannot be run" in format_report(results)

    def test_whatever_an_arena_plays_is_an_action(self):
        assert self.check("actor", "answers with arrays") == {}

    def test_settings_are_in_the_configuration(self):
        space = {"type": "Discrete", "shape": [], "dtype": "int64", "n": 5}
        config = {"operate": {"settings": {"checkpoint": "x"}, "action_space": space}}
        assert self.check("actor", "needs settings", config=config) == {}
        assert self.details["operating"] == "Discrete, 5 steps each"
        assert self.check("stage", "lists nothing", config={"environment": "Stage-v0"}) == {}

    def test_a_worker_must_be_good_for_something(self):
        failed = self.check("actor", "is good for nothing", TRAINING, deadline=1.0)
        assert (
            "['arena', 'dataset', 'export', 'operate', 'serve', 'train'] among the modes"
            in failed["discovery"]
        )
        assert 'a configuration "tiny" in conformance.json' in failed["dry run"]


class CommandLine(unittest.TestCase):
    def call(self, *arguments):
        return subprocess.run(
            [sys.executable, "-m", "mosaic_contract.conformance", *arguments],
            env={**os.environ, "PYTHONPATH": PATHS},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def test_one_json_object_a_check(self):
        done = self.call("peer", "--json")
        assert done.returncode == 0, done.stdout + done.stderr
        results = [json.loads(line) for line in done.stdout.splitlines()]
        assert [result["name"] for result in results] == TRAINING

    def test_an_unknown_worker_names_the_known(self):
        done = self.call("pear")
        assert done.returncode == 2 and "it has:" in done.stderr and "peer" in done.stderr
