"""Bundles of unknown origin: each attack is refused, with its member named, and leaves no file behind."""

from __future__ import annotations

import io
import json
import re
import stat
import subprocess
import sys
import unittest.mock
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from evaluation.evaluation_fixtures import resealed
from evaluation.sharing.forged_bundles import Members, bundled, refused, tampered
from support import MAIN, limited

from mosaic_lab import operators
from mosaic_lab._version import __version__
from mosaic_lab.cli import main
from mosaic_lab.errors import ConfigurationError, MosaicError
from mosaic_lab.evaluation.sharing import archive, open_bundle


def test_an_honest_one_is_not(tmp_path: Path, members: Members) -> None:
    bundle = open_bundle(bundled(tmp_path / "honest.zip", members, {}), tmp_path / "into")
    assert len(bundle.records()) == 4
    assert len(bundle.steps("random", 2)) == bundle.records()[2]["steps"]
    with pytest.raises(MosaicError, match=r"into exists already"):
        open_bundle(tmp_path / "honest.zip", tmp_path / "into")


NAMES = {
    "../outside.json": "would be written outside its folder",
    "checkpoints/1/../../../outside.json": "would be written outside its folder",
    "/etc/outside.json": "has an absolute name",
    "C:/outside.json": "has an absolute name",
    "\\\\server\\outside.json": "has an absolute name",
    "checkpoints\\..\\outside.json": "would be written outside its folder",
    f"checkpoints/1/{'a' * 300}.json": "has a name of 319 characters",
    "checkpoints/1/con.json": "has a name that is not the same on every system",
    "checkpoints/1/ﬁle.json": "has a name that is not the same on every system",
    "checkpoints/1/a\0b.json": "has a name that is not the same on every system",
    "checkpoints/1/policy.py": "is not a file of a bundle",
    "config.json": "is not a file of a bundle",
    "SCRIPT.json": "is not a file of a bundle",
}


@pytest.mark.parametrize("name", NAMES)
def test_names_that_lead_elsewhere(tmp_path: Path, members: Members, name: str) -> None:
    member = zipfile.ZipInfo("placeholder")
    member.filename = name
    refused(tampered(tmp_path / "names.zip", members, (member, b"{}")), NAMES[name])


def test_code_that_an_import_could_take_for_another_module(tmp_path: Path, members: Members) -> None:
    hidden = bundled(tmp_path / "hidden.zip", members, {"environment/sitecustomize.py": b"print('run')"})
    refused(
        hidden, "member 'environment/sitecustomize.py' is not a file of the module that script.json names"
    )


def test_two_names_for_one_file(tmp_path: Path, members: Members) -> None:
    twice = [(zipfile.ZipInfo(f"checkpoints/1/{name}.json"), b"{}") for name in ("policy", "Policy")]
    refused(tampered(tmp_path / "case.zip", members, *twice), "'checkpoints/1/Policy.json' is in it twice")
    with pytest.warns(UserWarning, match="Duplicate name"):
        tampered(tmp_path / "again.zip", members, (zipfile.ZipInfo("script.json"), b"{}"))
    refused(tmp_path / "again.zip", "'script.json' is in it twice")
    inside = [(zipfile.ZipInfo(f"checkpoints/1/{name}"), b"{}") for name in ("a.json", "a.json/b.json")]
    refused(tampered(tmp_path / "inside.zip", members, *inside), "is in 'checkpoints/1/a.json', which is a")


@pytest.mark.parametrize(
    ("kind", "says"),
    [
        (stat.S_IFLNK, "is a symbolic link"),
        (stat.S_IFCHR, "is a device or another special file"),
        (stat.S_IFIFO, "is a device or another special file"),
        (stat.S_IFDIR, "is a device or another special file"),
    ],
)
def test_members_that_are_not_files_are_refused(
    tmp_path: Path, members: Members, kind: int, says: str
) -> None:
    member = zipfile.ZipInfo("checkpoints/1/policy.json")
    member.external_attr = (kind | 0o777) << 16
    refused(tampered(tmp_path / "kinds.zip", members, (member, b"/etc/passwd")), f"policy.json' {says}")


def test_encrypted_members(tmp_path: Path, members: Members) -> None:
    path = tampered(tmp_path / "locked.zip", members)
    content = bytearray(path.read_bytes())
    entry = content.index(b"PK\x01\x02")
    content[entry + 8] |= 1
    path.write_bytes(content)
    refused(path, "is encrypted")


def test_bombs(tmp_path: Path, members: Members) -> None:
    refused(
        bundled(tmp_path / "ratio.zip", members, {"checkpoints/1/policy.json": bytes(32 << 20)}),
        r"'checkpoints/1/policy.json' would unpack from [\d,]+ to 33,554,432 bytes: that is a zip bomb",
    )
    several = {f"checkpoints/1/{number}.json": bytes(1 << 20) for number in range(5)}
    refused(
        bundled(tmp_path / "all.zip", members, several), r"refused: it would unpack from [\d,]+ to 5,\d+,"
    )
    many = {f"checkpoints/1/{number}.json": b"" for number in range(20_001)}
    refused(bundled(tmp_path / "many.zip", members, many), r"it has 20,\d+ members; the maximum is 20,000")
    honest = bundled(tmp_path / "total.zip", members, {})
    with pytest.raises(
        MosaicError, match=r"'steps/\d-\w+\.\d/telemetry.jsonl' is the largest of [\d,]+ bytes total"
    ):
        archive.unpack_bundle(honest, tmp_path / "into", re.compile(".*"), archive.Limits(total=10_000))


def test_sizes_that_lie(tmp_path: Path, members: Members) -> None:
    path = tampered(tmp_path / "lies.zip", members)
    content = bytearray(path.read_bytes())
    size = len(members["results.csv"])
    entry = content.rindex(b"results.csv") - 46
    content[entry + 24 : entry + 28] = (size - 1).to_bytes(4, "little")
    path.write_bytes(content)
    refused(path, f"'results.csv' has {size - 1:,} bytes, not {size:,}")


def recording(shape: tuple[int, ...] = (3,), members: int = 1, size: int | None = None) -> bytes:
    """Observation file whose array headers declare ``shape`` and whose members declare ``size`` bytes."""
    header = io.BytesIO()
    about = {"descr": "<f8", "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(header, about)
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for number in range(members):
            archive.writestr(f"0/{number}.npy", header.getvalue() + bytes(24))
            if size is not None:
                archive.filelist[-1].file_size = size
    return content.getvalue()


@pytest.mark.parametrize(
    ("file", "says"),
    [
        (recording(members=2, size=3 << 30), r"would unpack to 6,442,450,944 bytes, 4,294,967,296 at most"),
        (recording(members=20_001), r"has 20,001 members, 20,000 at most"),
        (recording(shape=(10**12, 10**6)), r"has an array '0/0\.npy' of 8,0[0,]+ bytes in 152"),
        (b"no archive", "cannot be read: File is not a zip file"),
    ],
    ids=["size", "members", "array", "no archive"],
)
def test_observations_that_would_fill_the_memory(
    tmp_path: Path, members: Members, file: bytes, says: str
) -> None:
    steps = next(name for name in members if name.startswith("steps/"))
    name = steps.replace("telemetry.jsonl", "observations/0.npz")
    refused(bundled(tmp_path / "bomb.zip", members, {name: file}), rf"{name}' {says}")


def test_a_manifest_that_lies(tmp_path: Path, members: Members) -> None:
    other = members | {"results.csv": members["results.csv"].replace(b"random", b"RANDOM")}
    refused(tampered(tmp_path / "content.zip", other), "'results.csv' does not match manifest.json")
    fewer = {name: content for name, content in members.items() if name != "results.csv"}
    refused(tampered(tmp_path / "fewer.zip", fewer), "'results.csv' is in manifest.json only")
    more = (zipfile.ZipInfo("notebook.ipynb"), b"{}")
    refused(tampered(tmp_path / "more.zip", members, more), "'notebook.ipynb' is not in manifest.json")
    none = {name: content for name, content in members.items() if name != "manifest.json"}
    refused(tampered(tmp_path / "none.zip", none), "is not a bundle of mosaic-lab")
    for text in (b"[]", b'{"files": {"a": 1}}', b"{", b'{"files": ' + b"[" * 100_000):
        wrong = members | {"manifest.json": text}
        refused(tampered(tmp_path / "wrong.zip", wrong), r"'manifest.json' (cannot be read|is nested too)")
    refused(bundled(tmp_path / "format.zip", members, {}, format="mosaic-bundle/9"), "mosaic-bundle/9")
    for versions in ([], {"random": []}, {"random": {"numpy": 2}}, {"random": {"numpy": "\x1b[2J"}}):
        path = bundled(tmp_path / "versions.zip", members, {}, versions=versions)
        refused(path, "'manifest.json' does not have")


def test_results_that_were_changed(tmp_path: Path, members: Members) -> None:
    def changed(old: bytes, new: bytes, count: int = -1) -> Members:
        return {"episodes.jsonl": resealed(members["episodes.jsonl"].replace(old, new, count))}

    better = members["episodes.jsonl"].replace(b'"terminated":true', b'"terminated":false', 1)
    refused(
        bundled(tmp_path / "flipped.zip", members, {"episodes.jsonl": better}),
        r"'episodes.jsonl' is damaged in line \d: the checksum does not match",
    )
    refused(
        bundled(tmp_path / "seeds.zip", members, changed(b'"seed":2,', b'"seed":3,')), "has different episo"
    )
    better = changed(b'"success":null', b'"success":true', 1)
    refused(bundled(tmp_path / "better.zip", members, better), "'results.csv' does not match episodes.json")
    shorter = {"script.json": json.dumps(json.loads(members["script.json"]) | {"max_steps": 400}).encode()}
    refused(
        bundled(tmp_path / "steps.zip", members, shorter), "'episodes.jsonl' and script.json do not match the"
    )
    elsewhere = changed(b'"arena":"', b'"arena":"../../')
    refused(bundled(tmp_path / "arena.zip", members, elsewhere), "names arenas that are")
    huge = changed(b'"steps":', b'"steps":1%s' % (b"0" * 40), 1)
    refused(bundled(tmp_path / "huge.zip", members, huge), "'episodes.jsonl' cannot be read: OverflowError")
    deep = changed(b'"returns":{', b'"returns":{"a":' + b"[" * 50_000 + b"],", 1)
    refused(bundled(tmp_path / "deep.zip", members, deep), "has different episodes")


def test_steps_are_refused_where_they_are_not_valid(tmp_path: Path, members: Members) -> None:
    steps = {
        name: content.replace(b'"episode_seed":', b'"episode_seed":"..","seed":')
        for name, content in members.items()
        if name.startswith("steps/")
    }
    bundle = open_bundle(bundled(tmp_path / "steps.zip", members, steps), tmp_path / "into")
    with pytest.raises(MosaicError, match=r"its member 'steps/.*' cannot be read: ValueError"):
        bundle.steps("random", 1)
    with pytest.raises(ConfigurationError, match=r"no episode 0 of 'radnom' on seed 1 in steps\.zip"):
        bundle.steps("radnom", 1)


def test_a_table_that_is_not_of_its_episodes(tmp_path: Path, members: Members) -> None:
    rows = members["results.csv"].splitlines(keepends=True)
    better = rows[2].replace(b",ok,", b",failed,")
    for name, table, row in (
        ("cell", [*rows[:2], better, *rows[3:]], 2),
        ("short", rows[:-1], 4),
        ("long", [*rows, rows[1]], 5),
        ("columns", [rows[0].replace(b"return", b"score"), *rows[1:]], 0),
    ):
        path = bundled(tmp_path / f"{name}.zip", members, {"results.csv": b"".join(table)})
        refused(path, rf"'results.csv' does not match episodes.jsonl: row {row} differs")
    garbage = bundled(tmp_path / "garbage.zip", members, {"results.csv": b"\xff\x00" * 50})
    refused(garbage, r"'results.csv' cannot be read as a table")


def test_another_version_says_what_it_could_not_check(
    tmp_path: Path, members: Members, capsys: pytest.CaptureFixture[str]
) -> None:
    path = bundled(tmp_path / "old.zip", members, {}, mosaic_lab="0.0.1")
    said = rf"the fingerprint was not checked: old.zip was made by mosaic-lab 0\.0\.1, this is {__version__}"
    assert re.match(said, open_bundle(path, tmp_path / "old").unchecked)
    where = ["--into", str(tmp_path / "again"), "--store", str(tmp_path / "runs")]
    assert main(["evaluate", str(path), "--verify", "--sample", "1", *where]) == 0
    assert re.search(said, capsys.readouterr().out)
    assert not open_bundle(bundled(tmp_path / "same.zip", members, {}), tmp_path / "same").unchecked


MANY = {
    "episodes": lambda s: s.update(episodes=1_250_000),
    "episodes beyond numbers": lambda s: s.update(episodes=10**4000),
    "seeds": lambda s: s.update(seeds=list(range(100_000))),
    "a range of seeds": lambda s: s.update(seeds={"first": 0, "count": 1_000_000}),
    "operators": lambda s: s["operators"].update({f"op{n}": {"kind": "random"} for n in range(9_000)}),
}


@pytest.mark.parametrize("what", MANY)
def test_more_is_announced_than_is_there(tmp_path: Path, members: Members, what: str) -> None:
    script = json.loads(members["script.json"])
    MANY[what](script)
    path = bundled(tmp_path / "many.zip", members, {"script.json": json.dumps(script).encode()})
    expanded = AssertionError("the script was expanded before it was checked")
    with unittest.mock.patch("mosaic_lab.evaluation.planning.plan_evaluation", side_effect=expanded):
        refused(
            path, "'script.json': (it requests .* seeds, and the bundle has 4 in total|.* has a list of se)"
        )


def test_a_space_of_any_size_is_read_as_it_is(tmp_path: Path) -> None:
    space = {"type": "Box", "shape": [10**12], "dtype": "float32", "low": -1.0, "high": 1.0}
    described = {"format": "mosaic-cleanrl/1", "observation_space": space, "action_space": space}
    (tmp_path / "policy.json").write_text(json.dumps(described))
    (tmp_path / "policy.npy").write_bytes(b"")
    assert operators.rl(tmp_path / "policy.npy").action_space == space


def test_a_full_disk_is_one_sentence(tmp_path: Path, members: Members) -> None:
    path = bundled(tmp_path / "share.zip", members, {})
    where = ["--into", str(tmp_path / "into"), "--store", str(tmp_path / "runs")]
    said = limited(tmp_path, "evaluate", str(path), *where)
    assert re.fullmatch(r"mosaic-lab: share.zip cannot be unpacked in .*/into: File too large\. .*\n", said)
    assert not (tmp_path / "into").exists()
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-c", MAIN, "evaluate", str(path), *where]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=120)
    assert done.returncode == 1
    assert (
        done.stderr == "mosaic-lab: the output cannot be written: No space left on device; free some space\n"
    )


SCRIPTS: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "a command": (lambda s: s.update(command=["rm"]), "must not have the key 'command"),
    "as many processes as it likes": (lambda s: s.update(parallel=10_000), "must not have the key 'parallel"),
    "a module": (lambda s: s.update(env="this:CartPole-v1"), "imports no module but"),
    "another module": (
        lambda s: s.update(env="this:Cart-v1", module="environment/that.py"),
        "makes env='this:",
    ),
    "a module elsewhere": (
        lambda s: s.update(env="os:Cart-v1", module="environment/../os.py"),
        "is not a module of",
    ),
    "a variable": (
        lambda s: s["operators"].update(a={"kind": "worker", "worker": "x", "pass_env_vars": ["HOME"]}),
        "an operator in a bundle must not have the key 'pass_env_vars'",
    ),
    "settings": (
        lambda s: s["operators"].update(a={"kind": "worker", "worker": "x", "settings": {"url": "x"}}),
        "an operator in a bundle must not have the key 'settings'",
    ),
    "a run of yours": (
        lambda s: s["operators"].update(a={"*": {"kind": "rl", "run": "k3f9"}}),
        "an operator in a bundle must not have the key 'run'",
    ),
    "a file of yours": (
        lambda s: s["operators"].update(a={"kind": "rl", "checkpoint": "/etc/policy.pt"}),
        "the checkpoint '/etc/policy.pt' is outside the bundle",
    ),
    "a file beside": (
        lambda s: s["operators"].update(a={"kind": "rl", "checkpoint": "checkpoints/../../policy.pt"}),
        "is outside the bundle",
    ),
    "another kind": (lambda s: s["operators"].update(a={"kind": "human"}), "of the kind 'human'"),
    "a text that a terminal obeys": (
        lambda s: s["operators"].update({"\x1b[2J": {"kind": "random"}}),
        "is not a valid name for an operator",
    ),
    "no operators": (lambda s: s.update(operators=[1]), "it cannot be read"),
}


@pytest.mark.parametrize("what", SCRIPTS)
def test_scripts_that_name_what_is_not_theirs(tmp_path: Path, members: Members, what: str) -> None:
    change, says = SCRIPTS[what]
    script = json.loads(members["script.json"])
    change(script)
    path = bundled(tmp_path / "script.zip", members, {"script.json": json.dumps(script).encode()})
    refused(path, f"'script.json': .*{says}")


def test_scripts_that_are_too_deep(tmp_path: Path, members: Members) -> None:
    deep = {"script.json": b'{"settings": ' + b"[" * 100_000}
    refused(bundled(tmp_path / "deep.zip", members, deep), r"'script.json': it is nested too deeply")


def test_lock_files_that_install_something_else(tmp_path: Path, members: Members) -> None:
    for line in (b"evil @ https://evil.example/evil.whl", b"--index-url https://evil.example", b"a==1; b"):
        lock = {"locks/random.txt": members["locks/random.txt"] + line + b"\n"}
        refused(bundled(tmp_path / "lock.zip", members, lock), r"'locks/random.txt' is not a lock file")


def test_a_file_that_is_not_a_zip_is_refused(tmp_path: Path, members: Members) -> None:
    (tmp_path / "text.zip").write_text("not the zip file")
    refused(tmp_path / "text.zip", "text.zip cannot be read as a zip file")
    whole = tampered(tmp_path / "whole.zip", members).read_bytes()
    at = whole.index(b"results.csv") + 60
    (tmp_path / "torn.zip").write_bytes(whole[:at] + b"\xff" * 8 + whole[at + 8 :])
    refused(tmp_path / "torn.zip", "torn.zip cannot be read as a zip file")
    refused(tmp_path / "nowhere.zip", "there is no bundle")
    refused(tmp_path, "is a folder: give the bundle's zip file")
