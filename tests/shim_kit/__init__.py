"""What the tests of all shims share: fixtures, trainings, policies of checkpoints, the table of a README."""
