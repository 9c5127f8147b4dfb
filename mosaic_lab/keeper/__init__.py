"""The process that owns a run's whole life, and the run folder that it owns.

A keeper imports nothing but this package, the contract and the standard library, so that it starts in
milliseconds and depends on nothing that the user may change while the run lives. `mosaic_lab.runs` is what
users see of runs.
"""
