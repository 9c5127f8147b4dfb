"""Common parts of panels: life cycle, refresh, visibility, comms, and outputs that remain when saved."""
