"""Helpers of the tests of all shims: fixtures, trainings, policies of checkpoints, the table of a README."""
