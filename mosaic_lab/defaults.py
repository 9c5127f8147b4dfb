"""Default values of `Lab`'s parameters, separate to avoid importing the code that uses them."""

STEP_TIMEOUT = 300.0
"""Default seconds for one reset or step of an environment; the first one may compile for minutes."""
