"""Sweeps: searches over a training's hyperparameters. A sweep is a run that starts others, its trials."""

from mosaic_lab.sweeps.sweep import Sweep

__all__ = ["Sweep"]
