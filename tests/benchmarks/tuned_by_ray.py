"""The same search by Ray Tune: ``python tuned_by_ray.py PARALLEL COMMAND VALUE…``.

Each trial runs the command (JSON), with its value at the end, as a process; prints the seconds that the
search took, without the start of Ray.
"""

import json
import subprocess
import sys
import time

import ray
from ray import tune

parallel, command, values = int(sys.argv[1]), json.loads(sys.argv[2]), sys.argv[3:]


def train(config: dict[str, str]) -> dict[str, float]:
    done = subprocess.run([*command, config["value"]], capture_output=True, text=True, check=True)
    return {"episode_return": float(len(done.stdout))}


ray.init(num_cpus=parallel, include_dashboard=False, log_to_driver=False)
began = time.perf_counter()
search = {"value": tune.grid_search(values)}
results = tune.Tuner(tune.with_resources(train, {"cpu": 1}), param_space=search).fit()
took = time.perf_counter() - began
assert not results.errors, results.errors
ray.shutdown()
print(took)
