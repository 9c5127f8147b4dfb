"""A comparison in a notebook: lanes side by side, live, and their static form."""
