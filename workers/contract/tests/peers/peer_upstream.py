"""The library that the peer worker wraps: a random walk rewarded by its position."""

import random


def walk(steps, seed, step_size):
    """Yield (step, position) at each step of a walk."""
    generator = random.Random(seed)
    position = 0.0
    for step in range(1, steps + 1):
        position += step_size * generator.choice((-1, 1))
        yield step, position
