"""MOSAIC Lab's chess players: language models in a dialog of tools, and UCI engines such as Stockfish."""
