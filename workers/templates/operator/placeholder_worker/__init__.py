"""FILL IN: how the operator acts, in one sentence."""
