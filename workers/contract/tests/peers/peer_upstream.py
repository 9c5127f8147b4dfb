"""The library that the peer worker wraps: a random walk that is paid for going up."""

import random


def walk(steps, seed, step_size):
    """Yield (step, position) of a walk."""
    generator = random.Random(seed)
    position = 0.0
    for step in range(1, steps + 1):
        position += step_size * generator.choice((-1, 1))
        yield step, position
