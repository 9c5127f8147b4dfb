"""The table of environment families in workers/README.md: sizes, speeds, seeding.

Not a test: `python tests/environment_table.py [WORKER ...]` installs these workers (by default all in the
table), measures one environment of each family in two processes, and writes their rows.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from mosaic_lab import workers
from mosaic_lab.keeper.environment_variables import compose_variables
from mosaic_lab.workers import WorkerEnvironment

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "workers" / "README.md"
SCRIPT = Path(__file__).parent / "shim_kit" / "environment_speed.py"
BEGIN, END = "<!-- families -->\n", "<!-- end of families -->\n"
HEAD = """| worker | family | measured with | size | steps/s | picture size, pictures/s | seeded | verdict |
|---|---|---|---|---|---|---|---|
"""
FAMILIES = {
    "arcade": {"stable-retro": "Airstriker-Genesis-v0", "Griddly": "GDY-Zelda-v0"},
    "balrog": {"TextWorld": "balrog/textworld/coin_collector"},
    "gymnasium": {
        "classic control": "CartPole-v1",
        "Box2D": "LunarLander-v3",
        "Atari": "ALE/Pong-v5",
        "MiniGrid": "MiniGrid-Empty-8x8-v0",
        "mpe2": "simple_spread_v3",
        "PettingZoo classic": "tictactoe_v3",
        "PettingZoo butterfly": "cooperative_pong_v6",
        "PettingZoo SISL": "pursuit_v5",
    },
    "jax": {"gymnax": "gymnax/Breakout-MinAtar", "Craftax": "Craftax-Classic-Symbolic-v1"},
    "jumanji": {"Jumanji": "Snake-v1"},
    "multiagent": {
        "RWARE": "rware-tiny-2ag-v2",
        "Level-Based Foraging": "Foraging-8x8-2p-1f-v3",
        "PettingZoo Atari": "pong_v3",
    },
    "multigrid": {
        "mosaic-multigrid": "MosaicMultiGrid-S-2v2-IndAgObs-v1",
        "multigrid": "MultiGrid-RedBlueDoors-6x6-v0",
    },
    "mujoco": {
        "MuJoCo": "HalfCheetah-v5",
        "Gymnasium-Robotics": "FetchReach-v4",
        "dm_control": "dm_control/cheetah-run-v0",
    },
    "nethack": {"NetHack": "NetHackScore-v0", "MiniHack": "MiniHack-Room-5x5-v0"},
    "openspiel": {"OpenSpiel": "OpenSpiel/connect_four"},
    "procgen": {"Procgen": "procgen-coinrun-v0", "Overcooked": "overcooked/cramped_room"},
    "pybullet": {"PyBullet": "AntBulletEnv-v0"},
    "text": {"TextArena": "TextArena/TicTacToe-v0"},
    "visual": {
        "ViZDoom": "VizdoomBasic-v1",
        "Crafter": "CrafterReward-v1",
        "MiniWorld": "MiniWorld-Hallway-v0",
        "highway-env": "highway-v0",
    },
}


def main(names: list[str]) -> int:
    measured_now = names or list(FAMILIES)
    rows = {worker: rows_of(workers.ensure(worker, print)) for worker in measured_now}
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    old, _, after = rest.partition(END)
    for line in old.splitlines()[2:]:
        worker = line.split("`")[1]
        if worker not in measured_now:
            rows.setdefault(worker, []).append(line)
    table = "\n".join(line for worker in sorted(rows) for line in rows[worker])
    PAGE.write_text(f"{before}{BEGIN}{HEAD}{table}\n{END}{after}", encoding="utf-8")
    return 0


def rows_of(worker: WorkerEnvironment) -> list[str]:
    rows = []
    for family, env_id in FAMILIES[worker.name].items():
        first, second = measured(worker, env_id), measured(worker, env_id)
        rows.append(row(worker, family, env_id, first, second))
        print(rows[-1])
    return rows


def measured(worker: WorkerEnvironment, env_id: str) -> dict[str, Any]:
    """Return the output of `environment_speed.py`, or {"failed": reason}."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [worker.python, SCRIPT, worker.program, env_id],
            cwd=folder,
            env=compose_variables({}),
            capture_output=True,
            text=True,
            timeout=300,
        )
    if done.returncode:
        return {"failed": done.stderr.strip().splitlines()[-1]}
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def row(
    worker: WorkerEnvironment, family: str, env_id: str, first: dict[str, Any], second: dict[str, Any]
) -> str:
    size = f"{worker.size_bytes / 1e6:,.0f} MB"
    failed = first.get("failed") or second.get("failed")
    if failed:
        cells = ["", "", "", f"fails: {failed}"]
    else:
        seeded = first["digest"] == second["digest"]
        drawn = "no_pictures" not in first
        picture = "×".join(map(str, first.get("picture", ()))) + f", {first.get('pictures', 0):,.0f}"
        verdict = "yes" if seeded else "the same seed gives another episode"
        cells = [f"{first['steps']:,.0f}", picture if drawn else "none", "yes" if seeded else "no", verdict]
    return f"| {' | '.join([f'`{worker.name}`', family, f'`{env_id}`', size, *cells])} |"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
