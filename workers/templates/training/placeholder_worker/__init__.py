"""FILL IN: one sentence on what the worker trains."""
