"""Operators that act from checkpoints: checks of settings, files and spaces; sharing of a loaded policy."""

import json
import os
import tempfile
import unittest
from pathlib import Path

from mosaic_contract import AgentSetup, ConfigError
from mosaic_contract.trained_policy import trained_policy

FORMAT = "mosaic-peer/1"
TWO, THREE = {"type": "Discrete", "n": 2}, {"type": "Discrete", "n": 3}
SPACES = {"observation_space": TWO, "action_space": TWO}
TOLD = {"format": FORMAT, "algorithm": "climb", "env_id": "Hill-v0", "step": 7, "episodes": 1}
TOLD = {**TOLD, "hyperparameters": {}}


class Policy:
    def __init__(self, path, described):
        self.weights = path.read_text()
        if self.weights == "torn":
            raise EOFError("it ends early")
        self.algorithm = described["algorithm"]


class TrainedPolicy(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name, "step-7.toy")
        self.write("weights", **SPACES)

    def write(self, weights, **spaces):
        self.path.write_text(weights)
        self.path.with_suffix(".json").write_text(json.dumps({**TOLD, **spaces}))

    def policy(self, agent="any", observation_space=None, action_space=None, **settings):
        settings = {"checkpoint": str(self.path), **settings}
        spaces = {"observation_space": observation_space, "action_space": action_space}
        return trained_policy(AgentSetup(agent, settings=settings, **spaces), FORMAT, ["climb"], Policy)

    def refusal(self, **given):
        with self.assertRaises(ConfigError) as refused:
            self.policy(**given)
        return str(refused.exception)

    def test_the_settings_name_a_checkpoint_and_whether_to_draw(self):
        policy, described, deterministic = self.policy()
        self.assertEqual((policy.weights, policy.algorithm, deterministic), ("weights", "climb", True))
        self.assertEqual(described["step"], 7)
        self.assertFalse(self.policy(deterministic=False)[2])
        self.assertIn("true or false, not 1", self.refusal(deterministic=1))
        self.assertIn('give "checkpoint"', self.refusal(checkpoint=None))
        self.assertIn(
            "there is no checkpoint", self.refusal(checkpoint=str(self.path.with_name("other.toy")))
        )

    def test_agents_share_the_policy_of_a_file_until_it_is_written_again(self):
        first = self.policy("red")[0]
        self.assertIs(self.policy("blue", deterministic=False)[0], first)
        self.write("newer", **SPACES)
        os.utime(self.path, ns=(0, self.path.stat().st_mtime_ns + 1))
        self.assertEqual(self.policy()[0].weights, "newer")

    def test_what_cannot_be_made_is_reported(self):
        self.write("torn", **SPACES)
        self.assertIn("step-7.toy: EOFError: it ends early", self.refusal())

    def test_an_agent_needs_a_policy_and_the_spaces_that_it_was_trained_for(self):
        self.policy(observation_space=TWO, action_space=TWO)
        self.write("team", agents={"red": SPACES})
        self.policy("red", action_space=TWO)
        self.assertIn("has no policy for blue; it has those of red", self.refusal(agent="blue"))
        reported = self.refusal(agent="red", action_space=THREE)
        self.assertIn("cannot act for red: its actions are Discrete(3)", reported)
        self.assertTrue(reported.endswith("the policy was trained for Discrete(2)"), reported)

    def test_a_misfit_names_the_keywords_that_the_environment_was_made_with(self):
        self.write("wide", **SPACES, env_settings={"continuous_actions": True, "n": 2})
        self.policy(observation_space=TWO, action_space=TWO)
        reported = self.refusal(observation_space=TWO, action_space=THREE)
        self.assertIn(
            "\nclimb of Hill-v0 was trained with continuous_actions=True, n=2: give the environment the same "
            "(env_kwargs={'continuous_actions': True, 'n': 2})",
            reported,
        )
