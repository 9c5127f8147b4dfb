"""The process of an environment: `python -m <name>_worker.cli --arena`.

A shim gives `EnvironmentFacts` about its environments, refuses settings that they do not have with
`check_settings` or `check_gymnasium_settings`, and makes Gymnasium's with `make_gymnasium`; `main` calls
`serve_arena`. The kernel and an arena exchange JSON lines, arrays in them
packed (`arrays`):

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
episode {seed, operator_seed, episode_index,           played {episode}: that of "stepped" with its
step_delay}                                            operators: {key: {calls, illegal, late, errors,
                                                       input_tokens, output_tokens, latency_ms,
                                                       [exchanges, cost_usd, parse_faults, repairs,
                                                       defaults, exchange_ms]}}
close                                                  closed, then exit 0
=====================================================  ======================================================

An operator that is `inside` lives in the arena's process, where the worker that makes the environment allows
that for its own operators; else its command is used. One whose command is null lives in the kernel and gets
the request "ask" {id, agent, operator, observation, action_mask, info, step_index}, open until the answer, or
"withdrawn" {id}. `descriptions` are the described states for the agents who act next and need one,
each with the "mission" of its observation where it has one.
While an operator takes its time there is "thinking" {agent, operator, seconds}, and in a "step" "partial"
{agent, operator, text} with what its model has written so far. A command that fails is answered by "error"
{where, agent, operator, message, error_type, log}. While a reset, a step or an episode is under way there is
a "beat" {doing, seconds, step_index} every second; where there is none, the arena is suspended or the
environment blocks the interpreter. Tuples in the `settings` of "open" are `{"__tuple__": [...]}`. Where the
environment itself takes longer than `step_timeout` seconds (null: no limit) for a reset, a step or a frame,
that is an error of the type "StepTimeout", whose `log` is the stack, and the arena is of no further use. A
"reset" or "close" while a step waits ends the step without an answer, and an "episode" likewise.

Beside an observation, an operator is sent what its `needs` name: "frame" (the picture, an array of uint8),
"teammates" ({agent: observation} of its team, or of all other agents where there are no teams) and
"description" (the state in the words of the environment's worker); and, with its next observation, the
`messages` of other agents: [{from, text, step_index}]. An action may come with messages [{to, text}], `to`
being an agent or "all", and with the `exchanges` with language models that led to it. Both stand in the move,
where there are any: messages that were delivered (8 with an action, of 500 characters each; what is beyond
that is said in `fault_text`), and exchanges with their texts shortened to 256 KiB in total.

What happens at an operator's `deadline` (seconds, null: none), and to an answer that cannot be played, is its
`fallback`: "wait" keeps waiting, and fails for an unusable answer; "default" plays the most passive action;
"forfeit" ends the episode for all. Operators that die fail the step, whatever the fallback, and so do answers
with an error of the type "BudgetSpent", "RecordingMismatch" or "EndpointRefused" (sent as a "ConfigError").
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
