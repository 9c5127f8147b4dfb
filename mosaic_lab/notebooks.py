"""Execute notebook files from top to bottom without a browser.

The kernel always uses this process's interpreter, regardless of the registered kernels.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path

import nbformat
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbformat import NotebookNode
from traitlets import default
from traitlets.config import Config

CELL_DEADLINE_SECONDS = 1800
END_DEADLINE_SECONDS = 30
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
"""The MIME type of live widgets in outputs."""


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
        # In a thread, where nbclient cannot install its own signal handlers: Ctrl-C keeps working.
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
            process.kill()  # a reaped kernel's pid may belong to another process; this method checks
        wait([execution], timeout=0.5)
