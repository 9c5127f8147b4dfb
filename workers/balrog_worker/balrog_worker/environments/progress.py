"""The progress of a game of NetHack, 0 to 1, on BALROG's scale.

The scale is measured: the share of games by people that reached a dungeon level or an experience level and
then went on to win, as published with BALROG (balrog/environments/nle/achievements.json), to five digits.
"""

from __future__ import annotations

from typing import Any

_DEPTHS = (  # dungeon levels 1 to 50
    0.0, 0.01539, 0.01754, 0.02122, 0.02648, 0.03543, 0.04846, 0.06958, 0.09771, 0.12559, 0.16127, 0.20613,
    0.2566, 0.29247, 0.30881, 0.32491, 0.34008, 0.35265, 0.36549, 0.37896, 0.39294, 0.40832, 0.42584,
    0.44518, 0.46638, 0.50676, 0.55436, 0.60156, 0.6465, 0.69131, 0.71011, 0.71765, 0.72321, 0.72844,
    0.73278, 0.73685, 0.74215, 0.74713, 0.75373, 0.76104, 0.76741, 0.77253, 0.77716, 0.78126, 0.7859,
    0.78903, 0.79297, 0.79674, 0.80185, 0.8068,
)  # fmt: skip
_EXPERIENCE = (  # experience levels 1 to 30
    0.0, 0.01848, 0.02081, 0.02416, 0.02911, 0.03689, 0.05076, 0.07454, 0.11705, 0.1791, 0.2548, 0.33265,
    0.41443, 0.49404, 0.57788, 0.62612, 0.65628, 0.68102, 0.70153, 0.71745, 0.7287, 0.7371, 0.74434,
    0.75134, 0.75855, 0.76422, 0.77034, 0.77598, 0.77833, 0.78046,
)  # fmt: skip
_DEPTH, _LEVEL = 12, 18  # places in NLE's blstats


class Progress:
    """The furthest that a game has got."""

    def __init__(self) -> None:
        self.reached = 0.0

    def after(self, blstats: Any) -> float:
        """Take in a state of the game, and return how far it has got."""
        depth, level = int(blstats[_DEPTH]), int(blstats[_LEVEL])
        for reached, scale in ((depth, _DEPTHS), (level, _EXPERIENCE)):
            if 1 <= reached <= len(scale):
                self.reached = max(self.reached, scale[reached - 1])
        return self.reached
