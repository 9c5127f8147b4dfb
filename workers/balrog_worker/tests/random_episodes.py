"""Play a random episode of each environment and print the results as JSON. Run by the tests with the Python
of the worker's environment. Arguments: the seed, then the ids."""

import hashlib
import json
import sys

from balrog_worker.environments import facts_of, make

_STEPS = 60
_COMMANDS = ("look", "inventory", "go north", "go east", "open door", "go south", "take key")


def walk(env_id: str, seed: int) -> dict:
    env = make(env_id, {}, None)
    _, info = env.reset(seed=seed)
    first, digest, steps = env.description(), hashlib.sha256(), 0
    env.action_space.seed(seed)
    for steps in range(1, _STEPS + 1):
        action = env.action_space.sample() if env.action_names else _COMMANDS[steps % len(_COMMANDS)]
        _, reward, terminated, truncated, info = env.step(action)
        digest.update(f"{env.long_term}{env.short_term}{reward}{info['progression']}".encode())
        if terminated or truncated:
            break
    pictured = "rgb_array" in env.metadata["render_modes"]
    found = {
        "first": first,
        "instructions": facts_of(env, "agent_0").instructions,
        "steps": steps,
        "digest": digest.hexdigest(),
        "info": {name: info[name] for name in ("progression", "success")},
        "frame": list(env.render().shape) if pictured else None,
    }
    env.close()
    return found


if __name__ == "__main__":
    seed, *ids = sys.argv[1:]
    print(json.dumps({env_id: walk(env_id, int(seed)) for env_id in ids}), file=sys.stderr)
