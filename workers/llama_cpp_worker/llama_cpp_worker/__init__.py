"""MOSAIC Lab's worker that serves GGUF models with llama.cpp."""
