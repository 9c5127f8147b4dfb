"""Import hooks: deferred modules and callbacks after an import."""

from __future__ import annotations

import importlib.util
import sys
import tempfile
import unittest
from contextlib import ExitStack
from pathlib import Path
from unittest import mock

from mosaic_contract.import_hooks import after_import, defer_imports

LIBRARY = """
import plotting.lines as lines
from plotting.shapes import Circle
import reports

def draw(shape: reports.Page) -> str:
    return lines.draw(shape)
"""


class ImportHooks(unittest.TestCase):
    def setUp(self):
        stack = ExitStack()
        self.addCleanup(stack.close)
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        stack.enter_context(mock.patch.object(sys, "path", [str(folder), *sys.path]))
        stack.enter_context(mock.patch.object(sys, "meta_path", list(sys.meta_path)))
        stack.enter_context(mock.patch.dict(sys.modules))
        (folder / "plotting").mkdir()
        (folder / "plotting" / "__init__.py").write_text("")
        (folder / "plotting" / "lines.py").write_text("def draw(shape): return f'a line of {shape}'\n")
        (folder / "plotting" / "shapes.py").write_text("class Circle: pass\n")
        (folder / "reports.py").write_text("class Page: pass\n")
        (folder / "library.py").write_text(LIBRARY)

    def test_a_deferred_module_is_imported_when_it_is_used(self):
        defer_imports("library", "plotting.lines", "plotting.shapes", "reports")
        import library

        assert {"plotting.lines", "plotting.shapes", "reports"}.isdisjoint(sys.modules)
        assert library.Circle is object, "a deferred class, used only in annotations, must be `object`"
        assert library.draw("dots") == "a line of dots"
        assert "plotting.lines" in sys.modules and "reports" not in sys.modules

    def test_other_code_imports_it_as_usual(self):
        import reports

        defer_imports("library", "plotting.shapes", "reports")
        import library
        from plotting.shapes import Circle

        assert sys.modules["reports"] is library.reports is reports, "an imported module was deferred"
        assert Circle is not object

    def test_a_callback_runs_once_a_module_has_been_imported(self):
        imported = []
        after_import("reports", lambda module: imported.append(module.Page.__name__))
        assert importlib.util.find_spec("reports") and imported == []
        import reports

        after_import("reports", imported.append)
        assert imported == ["Page", reports]
