"""Every run at a glance: what the panel of runs, the workspace and the forms of a page are made of."""
