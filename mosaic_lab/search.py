"""Distributions of hyperparameters, such as ``mosaic.search.loguniform(1e-5, 1e-2)``, for `Lab.sweep`."""

from mosaic_lab.sweeps.space import Choice, Range, choice, integer, loguniform, uniform

__all__ = ["Choice", "Range", "choice", "integer", "loguniform", "uniform"]
