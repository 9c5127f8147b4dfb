"""The process of an environment: `python -m <name>_worker.cli --arena`.

A shim provides `EnvironmentFacts` about its environments, rejects unknown settings with `check_settings` or
`check_gymnasium_settings`, and makes Gymnasium environments with `make_gymnasium`; `main` calls
`serve_arena`. The kernel and an arena exchange JSON lines with packed arrays (`arrays`):

=====================================================  ======================================================
command                                                answer
=====================================================  ======================================================
open {protocol, run_id, env_id, settings, folder,      opened {env_id, paradigm, agents, spaces,
max_steps, step_timeout}                               action_meanings, keys, teams, renders, render_reason,
                                                       versions}
seat {operators: {key: {command, environment,          seated {operators: {key: {worker, version, plain}}}
settings, name, category, deadline, fallback,
needs, inside}}, seats: {agent: key}}
reset {seed, episode_index}                            ready {seed, episode_index, step_index, turn,
                                                       [descriptions]}
step                                                   stepped {episode_index, step_index, moves, rewards,
                                                       returns, turn, terminated, truncated, done, episode,
                                                       [descriptions]}
answer {id, action | error, action_str, reasoning}     none
episode {seed, operator_seed, episode_index,           played {episode}: as in "stepped", with its
step_delay}                                            operators: {key: {calls, illegal, late, errors,
                                                       input_tokens, output_tokens, latency_ms,
                                                       [exchanges, cost_usd, parse_faults, repairs,
                                                       defaults, exchange_ms]}}
close                                                  closed, then exit 0
=====================================================  ======================================================

An `inside` operator runs in the arena's process, if the environment's worker allows this for its own
operators; otherwise its command is used. An operator whose command is null runs in the kernel and receives
the request "ask" {id, agent, operator, observation, action_mask, info, step_index}, which is open until its
answer or "withdrawn" {id}. `descriptions` are the described states for the agents that act next and need one,
each with the "mission" of its observation, if any.

While an operator is thinking, the arena sends "thinking" {agent, operator, seconds}, and during a "step" also
"partial" {agent, operator, text} with its model's text so far. A command that fails is answered by "error"
{where, agent, operator, message, error_type, log}. During a reset, a step or an episode, a "beat" {doing,
seconds, step_index} is sent every second; if none arrives, the arena is suspended or the environment blocks
the interpreter. Tuples in the `settings` of "open" are encoded as `{"__tuple__": [...]}`. If the environment
itself takes longer than `step_timeout` seconds (null: no limit) for a reset, a step or a frame, the error has
the type "StepTimeout" and the stack as its `log`, and the arena can no longer be used. A "reset" or "close"
during a waiting step or episode ends it without an answer.

In addition to the observation, an operator receives the inputs named in its `needs`: "frame" (the rendered
frame, a uint8 array), "teammates" ({agent: observation} of its team, or of all other agents if there are no
teams) and "description" (the state as described by the environment's worker); and, with its next observation,
the `messages` of other agents: [{from, text, step_index}]. An action may include messages [{to, text}], with
an agent or "all" as `to`, and the `exchanges` with language models that led to it. A move contains both, if
any: the delivered messages (up to 8 per action, of 500 characters each; `fault_text` reports the rest), and
the exchanges with their texts shortened to 256 KiB in total.

An operator's `fallback` determines what happens at its `deadline` (seconds, null: none) and after an answer
that cannot be played: "wait" keeps waiting, and fails for an unusable answer; "default" plays the most
passive action; "forfeit" ends the episode for all agents. Operators that exit fail the step, regardless of
the fallback, as do answers with an error of the type "BudgetSpent", "RecordingMismatch" or "EndpointRefused"
(sent as a "ConfigError").
"""

from mosaic_contract.arena.arena import serve_arena
from mosaic_contract.arena.environment_description import EnvironmentFacts, facts_of_joints
from mosaic_contract.arena.environment_factory import (
    NumberedAgents,
    check_gymnasium_settings,
    check_settings,
    make_gymnasium,
    registered,
)
from mosaic_contract.arena.environment_families import EnvironmentFamilies

__all__ = [
    "EnvironmentFacts",
    "EnvironmentFamilies",
    "NumberedAgents",
    "check_gymnasium_settings",
    "check_settings",
    "facts_of_joints",
    "make_gymnasium",
    "registered",
    "serve_arena",
]
