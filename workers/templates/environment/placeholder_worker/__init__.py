"""FILL IN: which environments it provides, in one sentence."""
