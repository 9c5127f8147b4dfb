"""Engines: where a run executes that is not on this machine.

`Cluster` is a cluster as the user names it, `Engine` the narrow interface to what schedules there, Ray the
one implementation. The bridge mirrors a run's files from its node into the local run folder; nothing above
this package knows where a run executes.
"""
