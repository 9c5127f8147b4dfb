"""The process that manages a run's entire life, and the run folder it owns.

A keeper imports only this package, the contract and the standard library, so that it starts in milliseconds
and does not depend on anything that the user may change during the run. `mosaic_lab.runs` is the user's
interface to runs.
"""
