"""Engines execute runs on other machines.

`Cluster` is the user's description of a cluster, `Engine` the narrow interface to its scheduler, and Ray its
only implementation. The bridge mirrors a run's files from its node into the local run folder. Packages above
this one do not know where a run executes.
"""
