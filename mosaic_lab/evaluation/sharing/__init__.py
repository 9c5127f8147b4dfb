"""Evaluations as single files that can be reproduced on another machine.

Opening a bundle executes none of its contents and uses no command, path or environment variable from it.
"""

from mosaic_lab.evaluation.sharing.bundle import Bundle, open_bundle
from mosaic_lab.evaluation.sharing.bundle_writing import write_bundle

__all__ = ["Bundle", "open_bundle", "write_bundle"]
