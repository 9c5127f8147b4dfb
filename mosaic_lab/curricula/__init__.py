"""The process of a curriculum, a training in stages: it starts their runs and passes on what these report."""
