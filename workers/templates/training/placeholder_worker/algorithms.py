"""The algorithms and the hyperparameters of each, without the library."""

from __future__ import annotations

from mosaic_contract import Parameter

# FILL IN: the library's algorithms and their hyperparameters, by the library's own names, with its defaults.
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
    """Return the hyperparameters of each algorithm, as `mosaic-lab workers list placeholder` shows them."""
    return {name: list(known.values()) for name, known in ALGORITHMS.items()}
