"""Evaluations as one file that somebody else can play again.

Crosses the boundary: `write_bundle`, from an evaluation to a zip file, and `open_bundle`, from a zip file
that anybody may have made to a `Bundle` in a folder of its own. Nothing that comes in a bundle is executed,
and no command, path or environment variable of it is used.
"""

from mosaic_lab.evaluation.sharing.bundle import Bundle, open_bundle
from mosaic_lab.evaluation.sharing.bundle_writer import write_bundle

__all__ = ["Bundle", "open_bundle", "write_bundle"]
