"""MOSAIC Lab's worker for environments of Gymnasium, PettingZoo, mpe2 and MiniGrid."""
