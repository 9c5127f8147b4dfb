"""Parts of all panels: life cycle, refresh, visibility, comms, and the outputs that stay when saved."""
