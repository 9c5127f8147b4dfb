"""Training plans: made once per process; all problems are reported in one error."""

import json
import unittest

from worker_processes import WorkerProcess

WORKER = """
import sys
from dataclasses import dataclass
from mosaic_contract import *
from mosaic_contract.training_plan import PlannedTraining

KNOWN = {"learning_rate": Parameter("learning_rate", float, 0.1, maximum=1)}

@dataclass(frozen=True)
class Plan(PlannedTraining):
    FORMAT = "mosaic-test/1"
    ALGORITHMS = {"ppo": "PPO of a library"}
    MAX_SEED = 10

    bound = {}
    parameters = KNOWN

    @classmethod
    def probed(cls, config, given):
        print("probed", file=sys.stderr)
        return config, None, None

    def misfits(self):
        if self.config.env_id == "Cave-v0":
            yield "Cave-v0 is too dark"

    def disagreements(self):
        if self.hyperparameters["learning_rate"] == 0:
            yield "nothing would be learned"

def train(plan, telemetry):
    rate = plan.hyperparameters["learning_rate"]
    return {"rate": rate, "upstream": len(plan.algorithm), "start": plan.start_step}

about = WorkerMetadata("test", "1.0", upstream_library="none"), WorkerCapabilities()
sys.exit(main(Worker(lambda: about, Plan.of, train, lambda: {"ppo": list(KNOWN.values())})))
"""


class Plans(WorkerProcess):
    def prepare(self, body):
        (self.folder / "worker.py").write_text(WORKER)
        (self.folder / "config.json").write_text(json.dumps(self.config))
        return self.folder

    def test_the_plan_of_a_training_is_made_once_and_trained_by(self):
        assert self.run_to_its_end("") == 0, self.log()
        assert self.end().final_metrics == {"rate": 0.1, "upstream": 16, "start": 0}
        assert self.messages()[0].config["hyperparameters"] == {"learning_rate": 0.1}
        assert self.log().count("probed") == 1

    def test_a_resumed_training_starts_at_its_checkpoint_with_its_hyperparameters(self):
        checkpoint = self.folder / "step-60.weights"
        checkpoint.write_bytes(b"weights")
        of = {"algorithm": "ppo", "env_id": self.config["env_id"], "hyperparameters": {"learning_rate": 0.5}}
        spaces = {"observation_space": {}, "action_space": {}}
        described = {"format": "mosaic-test/1", **of, **spaces, "step": 60, "episodes": 3}
        checkpoint.with_suffix(".json").write_text(json.dumps(described))
        self.config["checkpoint"] = {"resume_from": str(checkpoint)}
        assert self.run_to_its_end("") == 0, self.log()
        assert self.end().final_metrics == {"rate": 0.5, "upstream": 16, "start": 60}

    def test_everything_that_is_wrong_is_one_error(self):
        self.config.update(seed=11, env_id="Cave-v0", learning_rate=2)
        assert self.run_to_its_end("") == 2
        assert self.end().error == (
            "Cave-v0 is too dark\nseed must be at most 10, got 11\n"
            "hyperparameter 'learning_rate': 2.0 is more than 1"
        )

    def test_values_that_are_valid_alone_may_disagree(self):
        self.config["learning_rate"] = 0
        assert self.run_to_its_end("") == 2
        assert self.end().error == "nothing would be learned"


if __name__ == "__main__":
    unittest.main()
