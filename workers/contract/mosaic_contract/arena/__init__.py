"""The process of an environment: `python -m <name>_worker.cli --arena`.

A shim provides `EnvironmentFacts` about its environments, rejects unknown settings with `check_settings` or
`check_gymnasium_settings`, and makes Gymnasium environments with `make_gymnasium`; `main` calls
`serve_arena`. The kernel and an arena exchange JSON lines (workers/PROTOCOL.md, "Arenas").

- `arena`: the commands of the kernel; `channels`, `watchdog`, `errors`
- environment: `environment_factory`, `environment_adapters`, `environment_description`, `start`, `positions`
- operators: `seats` queries the operators of all agents through `calls`; `operators`, `process_operator`,
  `plain` (for workers with the plain protocol), `actions`, `hints` (additional inputs), `exchanges`
- episodes: `episode`, `batch` (several together), `replaying`, `arena_telemetry`, `frame_publisher`,
  `observation_recorder`, `observation_hash`
"""

from mosaic_contract.arena.arena import serve_arena
from mosaic_contract.arena.environment_description import EnvironmentFacts, facts_of_joints
from mosaic_contract.arena.environment_factory import (
    NumberedAgents,
    TurnBasedGame,
    check_gymnasium_settings,
    check_settings,
    make_gymnasium,
    registered,
)

__all__ = [
    "EnvironmentFacts",
    "NumberedAgents",
    "TurnBasedGame",
    "check_gymnasium_settings",
    "check_settings",
    "facts_of_joints",
    "make_gymnasium",
    "registered",
    "serve_arena",
]
