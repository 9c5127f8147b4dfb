"""``mosaic-lab export``: a notebook as one page, or an evaluation as one file to reproduce it from."""

from __future__ import annotations

import argparse
from pathlib import Path

from mosaic_lab.cli.runs import add_store
from mosaic_lab.runs import Supervisor


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Register ``mosaic-lab export``."""
    parser = subparsers.add_parser(
        "export",
        help="write a notebook as one HTML page, or an evaluation as a bundle",
        description="Without --evaluation: NOTEBOOK, as it was saved, becomes one HTML file that needs "
        "neither a kernel nor a network. With it: a .zip that `mosaic-lab evaluate FILE --verify` plays "
        "again on another machine; NOTEBOOK, if given, is in it.",
    )
    parser.add_argument("notebook", nargs="?", type=Path, metavar="NOTEBOOK", help="an .ipynb file")
    parser.add_argument("--evaluation", metavar="ID", help="the evaluation to bundle")
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="default: NOTEBOOK's name with .html, or ID.zip"
    )
    add_store(parser)
    parser.set_defaults(run=_export, parser=parser)


def _export(arguments: argparse.Namespace) -> int:
    if arguments.evaluation is not None:
        from mosaic_lab.evaluation.evaluation import find_evaluation

        evaluation = find_evaluation(Supervisor(arguments.store), arguments.evaluation)
        target = arguments.output or Path(f"{evaluation.id}.zip")
        print(evaluation.bundle(target, arguments.notebook))
        print(f"mosaic-lab evaluate {target.name} --verify plays it again, anywhere")
        return 0
    if arguments.notebook is None:
        arguments.parser.error("give a NOTEBOOK, or --evaluation ID")
    from mosaic_lab import html_export  # nbconvert, which no other command needs

    target = arguments.output or arguments.notebook.with_suffix(".html")
    html_export.to_html(arguments.notebook, target)
    print(target)
    return 0
