"""Comparisons: environments with operators, side by side on the same seeds.

Every lane is an arena's process, and every operator outside this kernel has its own. All end with the kernel.
"""

from mosaic_lab.arenas.comparison import Comparison, compare
from mosaic_lab.arenas.lane import Lane, LaneState
from mosaic_lab.arenas.request import CompareRequest

__all__ = ["CompareRequest", "Comparison", "Lane", "LaneState", "compare"]
