"""Environments for trainings in other virtual environments: `python -m <name>_worker.cli --environments`.

If a training's library lacks an environment, the worker that provides it serves it: one process of that
worker makes all environments of one process of the training. `registry.assign` names that worker's command,
and `registry.make` then returns environments that forward their calls: `gymnasium_environment` for one agent,
`pettingzoo_environment` for several.

The training sends JSON lines, each answered by one line:

=====================================================  ======================================================
command                                                answer
=====================================================  ======================================================
open {protocol, memory, step_timeout}                  opened {worker, version}
make {env_id, settings, render_mode, [paradigms]}      made {index, start, observation_space, action_space,
                                                       max_episode_steps, metadata}
reset {index, seed, options}                           returned {[returned: {index: {info, [observation]}}]}
step {indices, [actions: {index: action}]}             returned {[returned: {index: {info, [observation]}}]}
render {index}                                         rendered {start, shape, dtype}
close {index}                                          closed {index}
=====================================================  ======================================================

`memory` is the descriptor of an unnamed file, which the server inherits and both processes map. From `start`
on, it has an environment's region: reward and ends of the latest step, the next action, and the latest
observation (`shared_arrays`). The messages have only the parts of actions and observations without a fixed
shape, such as text, and infos that are not empty. "step" steps several environments, in the order of
`indices`. A rendered picture is written after the last region.

Of several agents, "made" has instead of the first three the `paradigm` ("parallel" or "aec") and `agents`, by
name {start, observation_space, action_space}: each has a region, with also its place in the episode and the
mask of its actions. Actions and results in messages are then by agent: `{agent: action}` and `{"agents":
{agent: {info, [observation]}}}`. Only agents whose turn it is act. Agents that have ended are not stepped in
the turns that PettingZoo reserves for them. An environment of several agents is refused unless its paradigm
is among `paradigms`, those that the training supports.

A reset with a seed also seeds the global generators, as in an arena: the same seeds and actions give the same
episodes there. Tuples in `settings` are encoded as `{"__tuple__": [...]}`.

A command that fails is answered by "error" {where, message, error_type, log}, with the traceback as `log`.
During a command, a "beat" {doing, seconds, step_index} is sent every second. If an environment takes longer
than `step_timeout` seconds for a reset, a step or a picture, the error has the type "StepTimeout" and the
stack as its `log`, and the server can no longer be used. The server ends when its input ends. It ignores
SIGTERM and SIGINT, because a training that is stopped may step its environments until it has saved.
"""
