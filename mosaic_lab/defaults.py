"""Default values in signatures of `Lab` which that need not import the code that uses them for."""

STEP_TIMEOUT = 300.0
"""Seconds that an environment may take for one reset or step: a first one may compile for minutes."""
