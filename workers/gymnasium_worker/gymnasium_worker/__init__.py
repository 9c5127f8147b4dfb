"""MOSAIC Lab's environments of Gymnasium, PettingZoo, mpe2 and MiniGrid."""
