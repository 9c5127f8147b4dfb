"""Evaluations as one file that can be reproduced on another machine.

Nothing that comes in a bundle is executed, and no command, path or environment variable of it is used.
"""

from mosaic_lab.evaluation.sharing.bundle import Bundle, open_bundle
from mosaic_lab.evaluation.sharing.bundle_writer import write_bundle

__all__ = ["Bundle", "open_bundle", "write_bundle"]
