"""MOSAIC Lab's chess players: language models in a tool dialog, and UCI engines such as Stockfish."""
