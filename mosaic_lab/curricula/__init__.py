"""The process of a curriculum (a training in stages): it starts the stages' runs and relays their reports."""
