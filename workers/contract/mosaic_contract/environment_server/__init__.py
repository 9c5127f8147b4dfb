"""Environments for trainings in other virtual environments: `python -m <name>_worker.cli --environments`.

If a training's library lacks an environment, the worker that provides it serves it: one process of that
worker makes all environments of one process of the training. `registry.assign` names that worker's command,
`client` starts its processes while the training's library is imported, and `registry.make` then returns
environments that forward their calls (`served`). The two processes exchange JSON lines and share memory
(workers/PROTOCOL.md, "Environment servers").
"""
