"""Export a notebook as one HTML file that needs neither a kernel nor a network.

Pictures are embedded, and maths is MathML, which browsers render natively. The page's Content Security Policy
blocks all requests.
"""

from __future__ import annotations

import html
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import nbformat
from jinja2 import pass_context
from latex2mathml.converter import convert
from nbconvert import HTMLExporter
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath
from nbformat import NotebookNode

from mosaic_lab.errors import ConfigurationError, MosaicError
from mosaic_lab.notebooks import WIDGET_VIEW

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
