"""What operators are sent beside an observation, as far as they need it: see `mosaic_contract.Operator`."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any, Mapping

from mosaic_contract.arena.agent_messages import Mail
from mosaic_contract.arena.environment_adapters import World
from mosaic_contract.arena.environment_info import About
from mosaic_contract.arena.errors import ArenaError
from mosaic_contract.arena.operators import Operator, sendable
from mosaic_contract.arena.pictures import Pictures
from mosaic_contract.arrays import pack

FRAME, TEAMMATES, DESCRIPTION = "frame", "teammates", "description"
NEEDS = (FRAME, TEAMMATES, DESCRIPTION)

_NOTHING: Mapping[str, Any] = MappingProxyType({})


class Hints:
    """Those of one environment. Values are packed for messages."""

    def __init__(self, world: World, about: About, pictures: Pictures) -> None:
        self._world = world
        self._about = about
        self._pictures = pictures
        self._frame: Any = None
        self.mail = Mail(world.agents)

    def check(self, operator: Operator) -> None:
        """Raise `ArenaError` for an operator that needs what this environment cannot give."""
        if unknown := [need for need in operator.needs if need not in NEEDS]:
            text = f"{operator.name} needs {unknown[0]!r}: an arena sends {', '.join(NEEDS)}"
        elif FRAME in operator.needs and self._pictures.cannot_draw:
            text = f"{operator.name} needs pictures: {self._pictures.cannot_draw}"
        else:
            return
        raise ArenaError(text, operator=operator.key, error_type="ConfigError")

    def begin_step(self) -> None:
        """The state is another one."""
        self._frame = None

    def of(self, agent: str, operator: Operator) -> Mapping[str, Any]:
        """What this operator is sent now. Raises `ArenaError` where the environment's own code fails."""
        if operator.plain or not (operator.needs or agent in self.mail):
            return _NOTHING
        hints: dict[str, Any] = {}
        if FRAME in operator.needs:
            hints[FRAME] = self._drawn(operator)
        if TEAMMATES in operator.needs:
            present = [other for other in self._about.teammates(agent) if other in self._world.present()]
            hints[TEAMMATES] = {other: pack(self._world.observe(other).observation) for other in present}
        if DESCRIPTION in operator.needs:
            hints[DESCRIPTION] = self.described(agent)
        if agent in self.mail:
            hints["messages"] = self.mail.take(agent)
        return hints

    def _drawn(self, operator: Operator) -> Any:
        if self._frame is None:
            try:
                self._frame = pack(self._pictures.frame())
            except Exception as error:  # whatever an environment's own code raises
                raise ArenaError.of_environment(
                    f"{operator.name} needs pictures, and this environment cannot be drawn", error
                ) from error
        return self._frame

    def described(self, agent: str) -> Mapping[str, Any] | None:
        """The state as this agent may know it; None where the environment is not described. Raises
        `ArenaError`."""
        describe = self._about.facts[agent].describe
        if describe is None:
            return None
        try:
            return sendable(describe())
        except Exception as error:  # whatever the worker's or the environment's code raises
            raise ArenaError.of_environment(f"the state cannot be described to {agent}", error) from error
