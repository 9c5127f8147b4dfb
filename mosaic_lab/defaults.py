"""Default values that users see in a signature and that the code below it uses too.

Crosses the boundary: `STEP_TIMEOUT`. The facade has it without importing arenas.
"""

STEP_TIMEOUT = 300.0
"""Seconds that an environment may take for one reset or step: a first one may compile for minutes."""
