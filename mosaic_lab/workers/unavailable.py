"""Environments that no worker can have, and why: known by their ids before anything is started."""

from __future__ import annotations

import re

_TEAMS = "Teams play in the workers multiagent, multigrid and procgen (Overcooked), as in rware-tiny-2ag-v2"

_REASONS = {  # by a pattern of ids, from their beginning
    r"(dm_)?melting_?pot": (
        f"Melting Pot cannot be installed as a package: its build downloads files from elsewhere. {_TEAMS}"
    ),
    r"(smac(v2|lite)?|starcraft|sc2|pysc2)([^a-z]|$)": (
        f"SMAC needs the game StarCraft II, and smaclite is not published as a package. {_TEAMS}"
    ),
    r"(malmo|minerl)": (
        "Malmo and MineRL need the game Minecraft and a Java program beside it. Crafter has similar "
        "tasks in two dimensions ('CrafterReward-v1')"
    ),
    r"(gym_?pybullet_?drones|([a-z]+_)?aviary)": "gym-pybullet-drones is not published as a package",
    r"(gym_?)?baba": "baba-is-ai is not published as a package",
    r"g_?football|google_(research_)?football|academy_|11_vs_11": (
        "Google Research Football is published as source only, to be compiled against the system's SDL and "
        f"Boost, and has not been maintained since 2022. {_TEAMS}"
    ),
    r"hemac": f"HeMAC is not published as a package. {_TEAMS}",
    r"neural_?mmo|nmmo": (
        f"Neural MMO is published as source only and pins old versions of gym, NumPy and SciPy. {_TEAMS}"
    ),
    r"(jidi_?)?olympics|wrestling": (
        "the Olympics games, wrestling among them, are not published as a package. 'boxing_v2' is a match of "
        "two players"
    ),
    r"brax": "Brax is no longer maintained; MuJoCo's robots are here, such as 'Ant-v5'",
}


def reason_against(env_id: str) -> str | None:
    """Return why an environment is not available; None for any that is not known for it, and for one of a
    module of the user's own ("module:Id")."""
    if ":" in env_id:
        return None
    plain = re.sub(r"[\s-]+", "_", env_id.lower())
    return next(
        (
            f"{env_id!r} is not available: {reason}"
            for pattern, reason in _REASONS.items()
            if re.match(pattern, plain)
        ),
        None,
    )
