"""Sweeps in a notebook: a live panel and its static form."""
