"""Weights in bundles of unknown origin: pickles that would run code are refused, however they are hidden."""

from __future__ import annotations

import io
import pickle
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from evaluation.sharing.forged_bundles import Members, bundled, refused

from mosaic_lab.evaluation.sharing.weights import danger_in


class Evil:
    """An object that runs code when it is unpickled."""

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[str, ...]]:
        return exec, ("raise SystemExit('executed')",)


@pytest.mark.parametrize("protocol", [2, *(pytest.param(n, marks=pytest.mark.extended) for n in (0, 4))])
def test_pickles(tmp_path: Path, members: Members, protocol: int) -> None:
    pickled = pickle.dumps({"modules": Evil()}, protocol)
    plain = {"checkpoints/1/policy.pt": pickled}
    refused(
        bundled(tmp_path / "plain.zip", members, plain), "policy.pt' is a plain pickle or not a file of wei"
    )
    weights = io.BytesIO()
    with zipfile.ZipFile(weights, "w") as inner:
        inner.writestr("archive/data.pkl", pickled)
    inside = {"checkpoints/1/policy.pt": weights.getvalue()}
    refused(bundled(tmp_path / "inside.zip", members, inside), "policy.pt' is a pickle that would call")
    with zipfile.ZipFile(weights, "a") as inner:
        inner.writestr("archive/more.pkl", pickled)
    two = {"checkpoints/1/policy.pt": weights.getvalue()}
    refused(bundled(tmp_path / "two.zip", members, two), "it has 2 pickles")
    harmless = io.BytesIO()
    with zipfile.ZipFile(harmless, "w") as inner:
        inner.writestr("archive/data.pkl", pickle.dumps({}, protocol))
    behind = {"checkpoints/1/policy.pt": pickled + harmless.getvalue()}
    refused(
        bundled(tmp_path / "behind.zip", members, behind), "policy.pt' is a plain pickle or not a file of wei"
    )


def zipped(*members: tuple[str, bytes], method: int = zipfile.ZIP_STORED) -> bytes:
    weights = io.BytesIO()
    with zipfile.ZipFile(weights, "w", method) as inner:
        for name, content in members:
            inner.writestr(name, content)
    return weights.getvalue()


def test_models_of_stable_baselines3(tmp_path: Path, members: Members) -> None:
    """Each weights file inside is checked; the pickles in the model's JSON document are never loaded."""
    safe, evil = (zipped(("archive/data.pkl", pickle.dumps(one, 2))) for one in ({}, Evil()))
    place = "checkpoints/1/policy.zip"
    model = {place: zipped(("data", b"{}"), ("policy.pth", safe), ("policy.optimizer.pth", evil))}
    refused(bundled(tmp_path / "one.zip", members, model), "'policy.optimizer.pth' that is a pickle that wou")
    packed = {place: zipped(("data", b"{}"), ("policy.pth", safe), method=zipfile.ZIP_DEFLATED)}
    refused(bundled(tmp_path / "two.zip", members, packed), "has a compressed member 'policy.pth'")
    refused(bundled(tmp_path / "three.zip", members, {place: b"text"}), "is not the zip file of a model")


SAFE, EVIL = pickle.dumps({}, 2), pickle.dumps(Evil(), 2)
HIDDEN = {
    "case": zipped(("archive/data.pkl", SAFE), ("archive/DATA.PKL", EVIL)),
    "case alone": zipped(("archive/DATA.PKL", EVIL)),
    "twice": zipped(("archive/data.pkl", EVIL), ("archive/data.pkl", SAFE)),
    "another folder first": zipped(("other/version", b"3"), ("archive/data.pkl", SAFE), ("other/data", EVIL)),
    "nested": zipped(("archive/archive/data.pkl", SAFE), ("archive/data", EVIL)),
    "backslash": zipped(("archive/data.pkl", SAFE), ("archive\\data.pkl", EVIL)),
    "unicode": zipped(
        ("archive/data.pkl", SAFE), ("archive/data.pᏦl", EVIL), ("archive/data.p\u212al", EVIL)
    ),
    "compressed": zipped(("archive/data.pkl", SAFE + b"N" * 100_000), method=zipfile.ZIP_DEFLATED),
}


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("how", [*HIDDEN, "two lists"])
def test_pickles_that_another_reader_would_find(tmp_path: Path, members: Members, how: str) -> None:
    weights = HIDDEN[how] if how in HIDDEN else two_lists()
    path = bundled(tmp_path / "hidden.zip", members, {"checkpoints/1/policy.pt": weights})
    says = "two members|pickle|not all readers of zip files|differently from other programs|is compressed"
    refused(path, f"policy.pt' .*({says})")


def two_lists() -> bytes:
    """A zip file with two central directories: one at the stated offset, one right before the end record."""
    evil = zipped(("archive/data.pkl", EVIL))
    safe = zipped(("archive/data.pkl", SAFE))
    at, end = evil.index(b"PK\x01\x02"), safe.index(b"PK\x01\x02")
    content = evil[:at] + safe[:end]  # the members of both files
    wrong = content + evil[at:-22] + safe[end:-22]
    directory = safe[-22:-6] + len(content).to_bytes(4, "little") + b"\0\0"
    return wrong + directory


def test_weights_of_pytorch_itself_are_not_refused(tmp_path: Path) -> None:
    """PyTorch 2.13 writes a zip64 end record whatever the size of the file."""
    names = ("data.pkl", ".format_version", "byteorder", "data/0", "version", ".data/serialization_id")
    plain = zipped(*((f"policy/{name}", SAFE) for name in names))
    at = plain.index(b"PK\x01\x02")
    count, size = len(names), len(plain) - at - 22
    large = struct.pack("<4sQ2H2L4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, count, count, size, at)
    locator = struct.pack("<4sLQL", b"PK\x06\x07", 0, len(plain) - 22, 1)
    for content, said in (
        (plain, ""),
        (plain[:-22] + large + locator + plain[-22:], ""),
        (
            plain[:-22] + large + locator[:8] + bytes(8) + locator[16:] + plain[-22:],
            "differently from other programs",
        ),
    ):
        (tmp_path / "policy.pt").write_bytes(content)
        assert said in danger_in(tmp_path / "policy.pt") and bool(said) == bool(
            danger_in(tmp_path / "policy.pt")
        )
