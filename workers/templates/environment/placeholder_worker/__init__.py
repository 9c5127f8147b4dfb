"""FILL IN: one sentence on the environments that it provides."""
