"""Statistics of scores, curves and games: pure functions on arrays, independent of evaluations."""
