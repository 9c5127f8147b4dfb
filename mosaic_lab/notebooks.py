"""Execute notebook files from top to bottom without a browser, and export them as HTML.

The kernel always uses this process's interpreter, regardless of the registered kernels. An exported page is
one file that needs neither a kernel nor a network: pictures are embedded, and maths is MathML, which browsers
render natively. The page's Content Security Policy blocks all requests.
"""

from __future__ import annotations

import html
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import nbformat
from jinja2 import pass_context
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from latex2mathml.converter import convert
from nbclient import NotebookClient
from nbconvert import HTMLExporter
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath
from nbformat import NotebookNode
from traitlets import default
from traitlets.config import Config

from mosaic_lab.errors import ConfigurationError, MosaicError

CELL_DEADLINE_SECONDS = 1800
END_DEADLINE_SECONDS = 30
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
"""The MIME type of live widgets in outputs."""
_POLICY = (
    "default-src 'none'; img-src data:; media-src data:; font-src data:; style-src 'unsafe-inline'; "
    "script-src 'unsafe-inline'"
)
_LATEX = "text/latex"
_LOADS = {
    **dict.fromkeys(
        ("img", "script", "iframe", "embed", "video", "audio", "source", "track", "input"), "src"
    ),
    "link": "href",
    "object": "data",
}
_LISTED = 5  # addresses in an error


class OwnKernel(AsyncKernelManager):
    """A kernel of this interpreter. Its sockets are next to its connection file; no data uses TCP."""

    @default("kernel_spec_manager")
    def _native_only(self) -> KernelSpecManager:
        return KernelSpecManager(kernel_dirs=[])

    @default("transport")
    def _sockets_in_a_folder(self) -> str:
        return "ipc"


def execute(
    source: Path, target: Path, on_cell: Callable[[int, int], None] = lambda cell, total: None
) -> None:
    """Run every cell of ``source`` in the folder of ``target`` and write the executed notebook there.

    ``on_cell(number, total)`` is called before each code cell, counted from 1. A cell may take half an hour.
    Executed cells are written even if a cell fails.

    Raises:
        nbclient.exceptions.CellExecutionError: a cell raised; the message has the cell and the error.
        nbclient.exceptions.CellTimeoutError: a cell exceeded its deadline.
        KeyboardInterrupt: the user pressed Ctrl-C; the kernel has ended, but runs that it started continue.
    """
    notebook = nbformat.read(source, as_version=4)
    code_cells = [index for index, cell in enumerate(notebook.cells) if cell.cell_type == "code"]

    def announce(cell: NotebookNode, cell_index: int) -> None:
        if cell_index in code_cells:
            on_cell(code_cells.index(cell_index) + 1, len(code_cells))

    with tempfile.TemporaryDirectory(prefix="mosaic-kernel-") as private:
        client = NotebookClient(
            notebook,
            kernel_manager_class=OwnKernel,
            config=Config(OwnKernel={"connection_file": str(Path(private) / "kernel.json")}),
            timeout=CELL_DEADLINE_SECONDS,
            resources={"metadata": {"path": str(target.parent)}},
            store_widget_state=False,
            record_timing=False,
            on_cell_start=announce,
        )
        # In a thread, nbclient cannot install its own signal handlers, so Ctrl-C keeps working.
        with ThreadPoolExecutor(1, "mosaic-notebook") as thread:
            execution = thread.submit(client.execute)
            try:
                execution.result()
            except KeyboardInterrupt:
                end_kernel(client, execution)
                raise
            finally:
                nbformat.write(notebook, target)


def end_kernel(client: NotebookClient, execution: Future[NotebookNode]) -> None:
    """Kill the kernel of an execution and wait until nbclient notices."""
    deadline = time.monotonic() + END_DEADLINE_SECONDS
    while not execution.done() and time.monotonic() < deadline:
        process = getattr(getattr(client.km, "provisioner", None), "process", None)
        if process is not None:
            process.kill()  # unlike os.kill, never reaches another process that reuses the pid
        wait([execution], timeout=0.5)


def to_html(source: Path, target: Path) -> None:
    """Write ``source``, as saved, as one HTML file.

    Live widgets need a kernel, so each is replaced by the static picture saved with it. Raises
    ConfigurationError if the file is not a notebook, and MosaicError if the notebook shows pictures or loads
    scripts that are missing or come from a network.
    """
    try:
        notebook = nbformat.read(source, as_version=4)
    except (OSError, ValueError, nbformat.ValidationError) as error:
        raise ConfigurationError(f"{source} is not a notebook that can be read: {error}") from None
    notebook.metadata.pop("widgets", None)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = [_static(output) for output in cell.outputs if not _is_view(output)]
    exporter = HTMLExporter(mathjax_url="", require_js_url="", jquery_url="", mermaid_js_url="")
    exporter.register_filter("markdown2html", _markdown)
    about = {"name": source.stem, "path": str(source.absolute().parent)}
    page, _ = exporter.from_notebook_node(notebook, resources={"metadata": about})
    loads = _Loads()
    loads.feed(page)
    if loads.found:
        more = f" and {len(loads.found) - _LISTED} more" if len(loads.found) > _LISTED else ""
        raise MosaicError(
            f"{source.name} refers to content that cannot be embedded in a page: "
            f"{', '.join(loads.found[:_LISTED])}"
            f"{more}. Save it in the notebook's folder and refer to it by its path there"
        )
    policy = f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
    target.write_text(page.replace("<head>", f"<head>{policy}", 1), encoding="utf-8")


@pass_context
def _markdown(context: Any, source: str) -> str:
    """Render Markdown like nbconvert, with embedded pictures and maths as MathML."""
    renderer = _Renderer(
        escape=False,
        attachments=context.get("cell", {}).get("attachments", {}),
        embed_images=True,
        path=context["resources"]["metadata"]["path"],
    )
    return str(MarkdownWithMath(renderer=renderer).render(source))


class _Renderer(IPythonRenderer):
    def block_math(self, body: str) -> str:
        return _mathml(body, "block")

    def inline_math(self, body: str) -> str:
        return _mathml(body, "inline")

    def latex_environment(self, name: str, body: str) -> str:
        return _mathml(rf"\begin{{{name}}}{body}\end{{{name}}}", "block")


def _mathml(text: str, display: str) -> str:
    """Return LaTeX as MathML; unparsable input is returned unchanged."""
    try:
        return str(convert(text, display=display))
    except Exception:  # any error of the parser for an unknown formula
        return f"<code>{html.escape(text)}</code>"


def _is_view(output: NotebookNode) -> bool:
    return WIDGET_VIEW in output.get("data", {})


def _static(output: NotebookNode) -> NotebookNode:
    data = output.get("data", {})
    if _LATEX in data and "text/html" not in data:
        data["text/html"] = _mathml(data.pop(_LATEX).strip("$\n "), "block")
    return output


class _Loads(HTMLParser):
    """A parser that collects the addresses that a page would load."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        address = dict(attrs).get(_LOADS.get(tag, ""))
        if address and not address.startswith(("data:", "#")):
            self.found.append(address[:200])
