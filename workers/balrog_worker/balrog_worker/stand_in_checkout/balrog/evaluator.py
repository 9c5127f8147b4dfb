"""Stand-in for upstream's evaluator; see README.md."""
