"""Evaluations in a notebook: a live panel, plots of their results, and the static forms of both."""
