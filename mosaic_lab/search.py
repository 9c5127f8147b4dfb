"""Distributions of hyperparameters, for ``search=`` of `Lab.sweep`: ``mosaic.search.log(1e-5, 1e-2)``."""

from mosaic_lab.sweeps.space import Choice, Range, choice, integer, log, uniform

__all__ = ["Choice", "Range", "choice", "integer", "log", "uniform"]
