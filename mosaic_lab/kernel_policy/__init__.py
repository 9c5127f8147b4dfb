"""Trained policies that answer the kernel: actions, probabilities and values of any observations."""

from mosaic_lab.kernel_policy.policy import Policy

__all__ = ["Policy"]
