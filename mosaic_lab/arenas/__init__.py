"""Comparisons: environments with operators in them, side by side, on the same seeds.

Every lane is an arena process, and every operator that is not in this kernel a process of its
own; all of them end with the kernel.
"""

from mosaic_lab.arenas.comparison import Comparison
from mosaic_lab.arenas.create import compare
from mosaic_lab.arenas.lane import Lane, LaneState
from mosaic_lab.arenas.request import CompareRequest

__all__ = ["CompareRequest", "Comparison", "Lane", "LaneState", "compare"]
