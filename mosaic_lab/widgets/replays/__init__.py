"""Replays of episodes in a notebook: a player, and its static form in the saved file."""
