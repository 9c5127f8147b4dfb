"""Evaluations, their statistics and their plots: the public names.

The statistics take arrays and return small frozen dataclasses. Every function that resamples requires a
`numpy.random.Generator`. Intervals have 95% confidence and use 2,000 resamples unless ``confidence`` and
``resamples`` are given. Invalid arguments raise ConfigurationError.
"""

from mosaic_lab.evaluation.evaluation import Evaluation
from mosaic_lab.evaluation.league import League
from mosaic_lab.evaluation.replay_check import EpisodeDifference, Verification
from mosaic_lab.evaluation.reports.plot import Plot
from mosaic_lab.evaluation.reports.plots import learning_curve_plot
from mosaic_lab.evaluation.reports.summary_table import Versus
from mosaic_lab.evaluation.statistics.averages import Summary, summary
from mosaic_lab.evaluation.statistics.curves import (
    LearningCurve,
    Profile,
    learning_curve,
    performance_profile,
)
from mosaic_lab.evaluation.statistics.custom import statistic
from mosaic_lab.evaluation.statistics.paired import (
    MeanDifference,
    PairedDifference,
    mean_difference,
    paired_difference,
    probability_of_improvement,
)
from mosaic_lab.evaluation.statistics.ratings import EloRatings, WinDrawLoss, elo, wilson, win_draw_loss
from mosaic_lab.evaluation.statistics.resampling import Estimate, Scores, normalise_scores
from mosaic_lab.evaluation.suite import Suite, SuiteVersus

__all__ = [
    "EloRatings",
    "EpisodeDifference",
    "Estimate",
    "Evaluation",
    "League",
    "LearningCurve",
    "MeanDifference",
    "PairedDifference",
    "Plot",
    "Profile",
    "Scores",
    "Suite",
    "SuiteVersus",
    "Summary",
    "Verification",
    "Versus",
    "WinDrawLoss",
    "elo",
    "learning_curve",
    "learning_curve_plot",
    "mean_difference",
    "normalise_scores",
    "paired_difference",
    "performance_profile",
    "probability_of_improvement",
    "statistic",
    "summary",
    "wilson",
    "win_draw_loss",
]
