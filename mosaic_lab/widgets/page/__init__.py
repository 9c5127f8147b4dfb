"""What all panels share: life cycle, refresh, visibility, comms, and the outputs that stay when saved."""
