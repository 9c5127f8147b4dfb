"""Sweeps: searches over the hyperparameters of a training, each a run that starts others, its trials."""

from mosaic_lab.sweeps.sweep import Sweep

__all__ = ["Sweep"]
