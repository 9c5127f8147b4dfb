"""Trained policies queried from the kernel: actions, probabilities and values for any observations."""

from mosaic_lab.kernel_policy.policy import Policy

__all__ = ["Policy"]
