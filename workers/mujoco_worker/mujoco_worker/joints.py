"""Names of the joints controlled by an action's components."""

from __future__ import annotations

from typing import Any, Sequence

from mosaic_contract.arena import EnvironmentFacts
from mosaic_contract.arena import facts_of_joints as facts_of_named_joints


def actuator_names(model: Any) -> list[str]:
    """Return the names of a MuJoCo model's actuators, or the joint's name for an unnamed actuator."""
    actuators = [model.actuator(index) for index in range(model.nu)]
    return [
        actuator.name or model.joint(int(actuator.trnid[0])).name or f"actuator {actuator.id}"
        for actuator in actuators
    ]


def facts_of_joints(names: Sequence[str], space: Any, task: str) -> EnvironmentFacts:
    """Return information about an environment with these joints; `task` describes its goal."""
    return facts_of_named_joints(names, space, task, "mujoco")
