"""Algorithms and their hyperparameters, without importing the library."""

from __future__ import annotations

from mosaic_contract import Parameter

# FILL IN: the library's algorithms and hyperparameters, with the library's names and defaults.
ALGORITHMS = {
    "random_search": {
        "noise": Parameter(
            "noise", float, 0.2, help="deviation of a random change of the weights", exclusive_minimum=0
        ),
        "episodes_per_try": Parameter(
            "episodes_per_try", int, 1, help="episodes that a change is judged by", minimum=1
        ),
    }
}


def hyperparameters() -> dict[str, list[Parameter]]:
    """Return the hyperparameters of each algorithm, which `mosaic-lab workers list placeholder` shows."""
    return {name: list(parameters.values()) for name, parameters in ALGORITHMS.items()}
