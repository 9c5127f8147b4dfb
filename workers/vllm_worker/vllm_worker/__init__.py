"""MOSAIC Lab's worker that serves language models with vLLM."""
