"""Statistics of scores, curves and games: pure functions on arrays, which know nothing of evaluations."""
