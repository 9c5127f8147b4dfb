"""Helpers for the tests of all shims: fixtures, trainings, checkpoint policies, a README's table."""
