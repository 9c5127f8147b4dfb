"""An overview of all runs: the basis of the runs panel, the workspace and the forms of a page."""
