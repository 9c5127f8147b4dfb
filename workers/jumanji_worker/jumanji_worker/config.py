"""The plan of a training from a run's configuration, validated before training."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any, Iterable, Mapping

from mosaic_contract import ConfigError, Parameter, TrainingConfig
from mosaic_contract.environment_check import unmakeable
from mosaic_contract.hyperparameters import env_kwargs_of, width_problems
from mosaic_contract.training_plan import PlannedTraining

from .environments import TRAINED, bare, make
from .hyperparameters import ALGORITHMS, bound, parameters_of


@dataclass(frozen=True)
class JumanjiPlan(PlannedTraining):
    """A validated and resolved training. Made without an environment, because importing JAX takes ten
    seconds, unless the environment has keyword arguments."""

    FORMAT = "mosaic-jumanji/1"
    ALGORITHMS = ALGORITHMS
    MAX_SEED = 2**32 - 1

    @classmethod
    def probed(
        cls, config: TrainingConfig, hyperparameters: Mapping[str, Any]
    ) -> tuple[TrainingConfig, None, None]:
        if bare(config.env_id) not in TRAINED:
            raise ConfigError(
                f"{config.env_id} can be compared and evaluated on here, not trained on; "
                f"{config.algorithm} trains on {', '.join(TRAINED)}"
            )
        if env_kwargs := env_kwargs_of(hyperparameters):
            try:
                make(config.env_id, env_kwargs)
            except ConfigError:
                raise
            except Exception as error:  # environments raise arbitrary exceptions
                raise unmakeable(config.env_id, error) from None
        return config, None, None

    @property
    def bound(self) -> Mapping[str, str]:
        return bound(self.parameters)

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        return parameters_of(self.config.algorithm, self.config.env_id)

    def disagreements(self) -> Iterable[str]:
        wrong = list(width_problems(self.hyperparameters))
        yield from wrong
        if not wrong and self.steps == self.start_step:
            yield (
                f"{self.config.end_field} ends before the first update, which takes n_steps="
                f"{self.hyperparameters['n_steps']} steps of {self.count} environments: raise it or lower "
                "these"
            )

    @property
    def count(self) -> int:
        """The number of environments stepped together."""
        values = self.hyperparameters
        return int(values["total_batch_size" if "total_batch_size" in values else "n_envs"])

    @property
    def per_update(self) -> int:
        """The number of steps per update, over all environments."""
        return self.count * int(self.hyperparameters["n_steps"])

    @property
    def steps(self) -> int:
        """The step at which the training ends: after the whole updates that fit into `total_timesteps`."""
        return self.start_step + (self.config.end_step - self.start_step) // self.per_update * self.per_update


def module_of(algorithm: str) -> Any:
    """Return the module of an algorithm, with its learner and its policy. Imports only its own upstream."""
    return importlib.import_module(f".{algorithm}", __package__)
