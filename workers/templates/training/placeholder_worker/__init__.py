"""FILL IN: what the worker trains, in one sentence."""
