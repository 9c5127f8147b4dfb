"""What evaluations found, with honest uncertainty.

Crosses the boundary: `Evaluation`, a run that plays episodes, and the statistics of scores, curves and games.
Of the latter arrays go in, small frozen dataclasses come out; every function that resamples needs a
`numpy.random.Generator`. Intervals are of 95% from 2,000 resamples unless ``confidence`` and ``resamples``
say otherwise. What cannot be used is a ConfigurationError.
"""

from mosaic_lab.evaluation.evaluation import Evaluation
from mosaic_lab.evaluation.replay_check import Difference, Verification
from mosaic_lab.evaluation.reports.plots import Plot, learning_curve_plot
from mosaic_lab.evaluation.reports.summary_table import Versus
from mosaic_lab.evaluation.statistics.averages import Summary, summary
from mosaic_lab.evaluation.statistics.curves import (
    LearningCurve,
    Profile,
    learning_curve,
    performance_profile,
)
from mosaic_lab.evaluation.statistics.paired import (
    PairedDifference,
    paired_difference,
    probability_of_improvement,
)
from mosaic_lab.evaluation.statistics.ratings import EloRatings, WinDrawLoss, elo, wilson, win_draw_loss
from mosaic_lab.evaluation.statistics.resampling import Estimate
from mosaic_lab.evaluation.statistics.scores import Scores, normalise_scores
from mosaic_lab.evaluation.suite import Suite, SuiteVersus

__all__ = [
    "Difference",
    "EloRatings",
    "Estimate",
    "Evaluation",
    "LearningCurve",
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
    "normalise_scores",
    "paired_difference",
    "performance_profile",
    "probability_of_improvement",
    "summary",
    "wilson",
    "win_draw_loss",
]
