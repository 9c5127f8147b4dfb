"""``mosaic-lab export``: runs for other tools, a notebook as one page, or an evaluation as a bundle."""

from __future__ import annotations

import argparse
from pathlib import Path

from mosaic_lab.cli.runs import add_store
from mosaic_lab.runs import Supervisor
from mosaic_lab.runs.exporting import FORMATS, export
from mosaic_lab.runs.kinds import of_class

_UPLOAD = "nothing was sent; to upload: wandb sync"


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Register ``mosaic-lab export``."""
    parser = subparsers.add_parser(
        "export",
        help="export runs to TensorBoard or W&B, a notebook to HTML, an evaluation to a bundle",
        description="With --to: the RUNs become event files of TensorBoard, or offline runs of Weights & "
        "Biases, below the folder --out. With --evaluation: a .zip that `mosaic-lab evaluate FILE --verify` "
        "plays again on another machine; NOTEBOOK, if given, is in it. Without either: NOTEBOOK, as it was "
        "saved, becomes one HTML file that needs neither a kernel nor a network.",
    )
    parser.add_argument(
        "what", nargs="*", metavar="RUN | NOTEBOOK", help="run ids with --to, otherwise an .ipynb file"
    )
    add = parser.add_mutually_exclusive_group()
    add.add_argument("--to", choices=FORMATS, help="export RUNs to this tool")
    add.add_argument("--evaluation", metavar="ID", help="the evaluation to bundle")
    parser.add_argument(
        "-o",
        "--output",
        "--out",
        type=Path,
        metavar="PATH",
        help="default: NOTEBOOK's name with .html, ID.zip, and with --to the folder tensorboard or here",
    )
    add_store(parser)
    parser.set_defaults(run=_export, parser=parser)


def _export(arguments: argparse.Namespace) -> int:
    if arguments.to is not None:
        return _to_tool(arguments)
    if len(arguments.what) > 1:
        arguments.parser.error("give one NOTEBOOK; several RUNs need --to")
    notebook = Path(arguments.what[0]) if arguments.what else None
    if arguments.evaluation is not None:
        from mosaic_lab.evaluation import Evaluation

        evaluation = of_class(Supervisor(arguments.store).run(arguments.evaluation), Evaluation)
        target = arguments.output or Path(f"{evaluation.id}.zip")
        print(evaluation.bundle(target, notebook))
        print(f"mosaic-lab evaluate {target.name} --verify plays it again, anywhere")
        return 0
    if notebook is None:
        return arguments.parser.error("give a NOTEBOOK, RUNs and --to, or --evaluation ID")
    if notebook.suffix != ".ipynb" and not notebook.exists():
        arguments.parser.error(f"{notebook} is not a notebook; a RUN needs --to {' or --to '.join(FORMATS)}")
    from mosaic_lab import notebooks  # imports nbconvert, which no other command needs

    target = arguments.output or notebook.with_suffix(".html")
    notebooks.to_html(notebook, target)
    print(target)
    return 0


def _to_tool(arguments: argparse.Namespace) -> int:
    if not arguments.what:
        arguments.parser.error("give the id of a RUN; mosaic-lab runs list shows them")
    supervisor = Supervisor(arguments.store)
    runs = list(dict.fromkeys(supervisor.run(run_id) for run_id in arguments.what))
    # W&B creates its own folder "wandb" in it.
    out = arguments.output or Path("tensorboard" if arguments.to == "tensorboard" else ".")
    paths = export(runs, arguments.to, out)
    print("\n".join(map(str, paths)))
    if arguments.to == "wandb":
        print(f"{_UPLOAD} {' '.join(map(str, paths))}")
    else:
        print(f"tensorboard --logdir {out} shows them")
    return 0
