"""The process of a curriculum, a training in stages: starts the stages' runs and relays their reports."""
