"""FILL IN: one sentence on how the operator acts."""
