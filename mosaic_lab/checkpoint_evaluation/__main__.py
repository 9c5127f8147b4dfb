"""The process that evaluates checkpoints: ``python -m mosaic_lab.checkpoint_evaluation --config …``.

It follows a training through its run folder. See `runs.checkpoint_runner`.
"""

from __future__ import annotations

import sys

from mosaic_lab.checkpoint_evaluation.evaluator import CheckpointEvaluator
from mosaic_lab.runs.checkpoint_runner import run_in_background

if __name__ == "__main__":
    sys.exit(run_in_background("mosaic_lab.checkpoint_evaluation", CheckpointEvaluator, sealed=True))
