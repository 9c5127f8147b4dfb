"""The part of Gymnasium's interface that an arena uses."""


class Discrete:
    def __init__(self, n):
        self.n, self.start, self.shape, self.dtype = n, 0, (), "int64"

    def seed(self, seed):
        pass

    def contains(self, action):
        return 0 <= action < self.n

    def sample(self, mask=None):
        return 0
