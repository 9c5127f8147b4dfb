"""Run by a worker's interpreter: the actions of upstream's own script, with a checkpoint's weights.

The script's source runs unchanged, with its command line, up to the start of its training, and creates its
own environments and networks. The networks then load the weights, and each observation passes through the
script's wrappers and its expression for choosing an action. Prints one JSON object: the best action for each
observation, and the actions drawn in sequence from the seed (None where a script samples otherwise).
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import torch

BEGIN = "TRY NOT TO MODIFY: start the game"


def setup(described: dict[str, Any]) -> dict[str, Any]:
    """Run the script up to the start of its training and return its variables."""
    name = described["upstream"]["script"]
    spec = importlib.util.find_spec(name)
    assert spec is not None
    assert spec.origin is not None
    text = Path(spec.origin).read_text()
    kind = "--gym-id" if described["legacy"] else "--env-id"
    sys.argv = [name, kind, described["env_id"], "--total-timesteps", "1000"]
    if described["legacy"]:
        sys.argv += ["--capture-video", "False"]
    os.chdir(tempfile.mkdtemp())
    scope: dict[str, Any] = {"__name__": "__main__", "__file__": spec.origin}
    before = text[: text.index(BEGIN)].rsplit("\n", 1)[0]
    exec(compile(before, spec.origin, "exec"), scope)
    return scope


def observed(scope: dict[str, Any], described: dict[str, Any], observation: Any) -> torch.Tensor:
    """Return the observation after the script's own wrappers, with the checkpoint's statistics."""
    statistics, legacy = described["preprocessing"]["normalise"], described["legacy"]
    if statistics is not None:
        above, env = [], scope["envs"].venv.envs[0] if legacy else scope["envs"].envs[0]
        while not {"obs_rms", "ob_rms"} & set(vars(env)):
            above.append(env)
            env = env.env
        running = env.ob_rms if legacy else env.obs_rms
        running.mean, running.var = np.array(statistics["mean"]), np.array(statistics["var"])
        running.count = 1e300  # so that one more observation changes nothing
        if legacy:
            observation = env._obfilt(np.asarray(observation))
        else:
            observation = env.normalize(np.asarray([observation]))[0]
            (clip,) = (wrapper for wrapper in above if type(wrapper).__name__ == "TransformObservation")
            observation = clip.observation(observation)
    elif described["preprocessing"]["one_hot"] is not None:
        observation = scope["env"].observation(observation)
    return torch.Tensor(np.asarray(observation)).view(1, -1)


def best(scope: dict[str, Any], algorithm: str, legacy: bool, x: torch.Tensor) -> torch.Tensor:
    device = (scope["device"],) if legacy else ()
    if algorithm == "ppo":
        return scope["agent"].actor(x).argmax(1)
    if algorithm in ("ppo_continuous", "rpo"):
        return scope["agent"].actor_mean(x)
    if algorithm in ("dqn", "pqn"):
        return torch.argmax(scope["q_network"](x, *device), dim=1)
    if algorithm == "c51":
        given = {"device": device[0], "env": scope["env"]} if legacy else {}
        return scope["q_network"].get_action(x, **given)[0]
    if algorithm == "sac":
        return scope["pg" if legacy else "actor"].get_action(x, *device)[2]
    return scope["actor"](x, *device)


def drawn(scope: dict[str, Any], algorithm: str, legacy: bool, x: torch.Tensor) -> torch.Tensor | None:
    if algorithm in ("ppo", "ppo_continuous", "rpo"):
        agent = scope["agent"]
        return (agent.get_action if legacy else agent.get_action_and_value)(x)[0]
    if algorithm == "sac":
        return scope["pg"].get_action(x, scope["device"])[0] if legacy else scope["actor"].get_action(x)[0]
    return None


def main(path: Path, observations: list[Any], seed: int) -> dict[str, Any]:
    described = json.loads(path.with_suffix(".json").read_text())
    saved = torch.load(path, map_location="cpu", weights_only=True)
    scope = setup(described)
    for name in {"agent", "q_network", "actor", "pg"} & set(saved["modules"]):
        scope[name].load_state_dict(saved["modules"][name])
    algorithm, legacy = described["algorithm"], described["legacy"]
    with torch.no_grad():
        inputs = [observed(scope, described, observation) for observation in observations]
        greedy = [best(scope, algorithm, legacy, x) for x in inputs]
        torch.manual_seed(seed)
        samples = [drawn(scope, algorithm, legacy, x) for x in inputs]
    return {
        "best": [action[0].tolist() for action in greedy],
        "drawn": [None if action is None else action[0].tolist() for action in samples],
    }


if __name__ == "__main__":
    result = main(Path(sys.argv[1]), json.loads(sys.argv[2]), int(sys.argv[3]))
    print("\n" + json.dumps(result))
