"""Here upstream's evaluator is; see README.md."""
