"""Curves of runs: their recorded points, cut, decimated, smoothed and grouped as requested."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from overview.run_folders import START, append, metrics, run_in

from mosaic_lab.errors import ConfigurationError
from mosaic_lab.evaluation import learning_curve
from mosaic_lab.keeper.states import State
from mosaic_lab.overview.column_pool import MAX_OPEN, ColumnPool, Reading
from mosaic_lab.overview.curves import CurveRequest, Curves, metric_names, smooth
from mosaic_lab.overview.curves import curves as curves_so_far
from mosaic_lab.overview.results import results
from mosaic_lab.runs import Run
from mosaic_lab.telemetry.column_cache import ColumnCache


@pytest.fixture
def pool(tmp_path: Path) -> ColumnPool:
    return ColumnPool(ColumnCache(tmp_path / "cache"))


def curves(runs: Sequence[Run], request: CurveRequest, pool: ColumnPool) -> Curves:
    """Lines of a chart once all telemetry is read, however slow the machine."""
    return curves_so_far(runs, request, pool, seconds=60)


def noisy(points: int, seed: int = 0, **more: float) -> Iterator[dict[str, Any]]:
    values = np.random.default_rng(seed).normal(size=points)
    return (metrics(10 * i, i / 4, loss=float(value), **more) for i, value in enumerate(values))


def own_points(run: Run, name: str = "loss") -> set[tuple[float, float]]:
    table = run.metrics(name)
    return set(zip(table["step"].astype(float), table["value"].astype(np.float32).astype(float), strict=True))


def read_answer(found: Curves) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Decode x and y of each line from the buffers, as a page does."""
    content, buffers = found.answer()
    json.dumps(content, allow_nan=False)
    lines, waiting = {}, iter(buffers)
    for line in content["lines"]:
        columns = {}
        for name in ("x", "y", "low", "high"):
            if name in line:
                columns[name] = np.frombuffer(next(waiting), line[name]["dtype"])
                assert len(columns[name]) == line[name]["length"]
        lines[line["key"]] = (columns["x"], columns["y"])
    assert next(waiting, None) is None
    return lines


def test_all_points_where_there_are_few_and_the_extremes_where_there_are_many(
    tmp_path: Path, pool: ColumnPool
) -> None:
    few, many = run_in(tmp_path / "few", noisy(100)), run_in(tmp_path / "many", noisy(50_000, 1))
    found = curves([few, many], CurveRequest("loss", points=300), pool)
    lines = read_answer(found)
    table = few.metrics("loss")
    np.testing.assert_array_equal(lines["few"][0], table["step"])
    np.testing.assert_array_equal(lines["few"][1], table["value"].astype(np.float32))
    x, y = lines["many"]
    assert 200 < len(x) <= 300 and (np.diff(x) >= 0).all()
    assert set(zip(x, y.astype(float), strict=True)) <= own_points(many)
    values = many.metrics("loss")["value"].astype(np.float32)
    assert (y.min(), y.max()) == (values.min(), values.max())
    assert (x[0], x[-1]) == (0, 499_990)
    assert found.range == (0, 499_990) and found.read == 1 and found.notes == []


@pytest.mark.parametrize(
    "x, ends, label",
    [
        ("step", (0, 90), "steps"),
        ("episode", (0, 9), "episodes"),
        ("time", (START + 5, START + 23), "time"),
        ("relative", (0, 18), "seconds since the start"),
    ],
)
def test_four_axes(tmp_path: Path, pool: ColumnPool, x: Any, ends: tuple[float, float], label: str) -> None:
    events = []
    for i in range(10):
        events.append(metrics(10 * i, 5 + 2 * i, loss=i))
        events.append(
            {"type": "episode", "episode_index": i, "agent_id": "a", "timestamp": START + 6 + 2 * i}
        )
    events.append({"event": "metrics", "payload": {"values": {"other": 1}}})  # without timestamp and step
    run = run_in(tmp_path / "run", events)
    found = curves([run], CurveRequest("loss", x), pool)
    assert found.range == ends and found.x_label == label
    assert found.lines[0].x.tolist() == np.linspace(*ends, 10).tolist()
    assert found.lines[0].y.tolist() == list(range(10))
    other = curves([run], CurveRequest("other", x), pool).lines
    assert len(other) == (0 if x == "time" else 1), "only points with timestamps are on the time axis"


def test_a_part_is_cut_with_one_point_beyond_either_side(tmp_path: Path, pool: ColumnPool) -> None:
    run = run_in(tmp_path / "run", noisy(60_000))
    table = run.metrics("loss")
    found = curves([run], CurveRequest("loss", start=200_005, end=200_105), pool)
    [line] = found.lines
    inside = table[(table["step"] >= 200_000) & (table["step"] <= 200_110)]
    assert line.x.tolist() == inside["step"].tolist() and line.y.tolist() == inside["value"].tolist()
    assert found.range == (0, 599_990)
    [wide] = curves([run], CurveRequest("loss", start=100_000, end=500_000, points=400), pool).lines
    assert 300 < len(wide.x) <= 400 and wide.x[0] == 99_990 and wide.x[-1] == 500_010
    [smooth_part] = curves([run], CurveRequest("loss", start=200_005, end=200_105, smoothing=0.5), pool).lines
    assert len(smooth_part.x) == 12


def test_steps_that_go_back_and_gaps(tmp_path: Path, pool: ColumnPool) -> None:
    values = [1.0, 2.0, "NaN", "Infinity", 5.0, 6.0]
    events = [metrics(step, loss=value) for step, value in zip([0, 30, 20, 10, 40, 50], values, strict=True)]
    run = run_in(tmp_path / "run", events)
    [line] = curves([run], CurveRequest("loss"), pool).lines
    assert line.x.tolist() == [0, 10, 20, 30, 40, 50]
    np.testing.assert_array_equal(line.y, [1, np.nan, np.nan, 2, 5, 6])
    [line] = curves([run], CurveRequest("loss", smoothing=0.9), pool).lines
    assert line.x.tolist() == [0, 30, 40, 50] and np.isfinite(line.y).all()


def test_smoothing_is_that_of_panels_and_starts_from_means(tmp_path: Path, pool: ColumnPool) -> None:
    few, many = run_in(tmp_path / "few", noisy(100)), run_in(tmp_path / "many", noisy(40_000, 1))
    first, second = curves([few, many], CurveRequest("loss", smoothing=0.6, points=200), pool).lines
    np.testing.assert_array_equal(first.y, smooth(few.metrics("loss")["value"].to_numpy(), 0.6))
    assert 150 < len(second.x) <= 200
    means = np.array([part.mean() for part in np.split(many.metrics("loss")["value"].to_numpy(), 200)])
    assert abs(second.y).max() < 0.5 and abs(second.y.mean() - smooth(means, 0.6).mean()) < 0.01


def test_outliers_are_left_out_on_request(tmp_path: Path, pool: ColumnPool) -> None:
    values = np.random.default_rng(0).normal(size=2000)
    values[[100, 700, 1500]] = 1e9, np.nan, -1e9
    run = run_in(tmp_path / "run", [metrics(i, loss=value) for i, value in enumerate(values)])
    constant = run_in(tmp_path / "constant", [metrics(i, loss=float(i == 50)) for i in range(100)])
    [line] = curves([run], CurveRequest("loss"), pool).lines
    assert (np.nanmin(line.y), np.nanmax(line.y)) == (-1e9, 1e9)
    [line, rare] = curves([run, constant], CurveRequest("loss", outliers=True), pool).lines
    usual = values[np.abs(values) < 10]
    assert (np.nanmin(line.y), np.nanmax(line.y)) == (usual.min(), usual.max())
    assert np.isnan(line.y).sum() == 1, "a gap is not an outlier"
    assert rare.y.max() == 1, "a rare event is not an outlier"
    [mean] = curves([run], CurveRequest("loss", outliers=True, smoothing=0.5), pool).lines
    assert np.abs(mean.y).max() < 5


def test_grouped_by_any_settings_it_is_the_mean_with_the_interval_of_evaluations(
    tmp_path: Path, pool: ColumnPool
) -> None:
    runs = [
        run_in(
            tmp_path / f"run{seed}-{gamma}",
            noisy(150, seed),
            config={"algorithm": "ppo", "env_id": "E-v0", "seed": seed, "hyperparameters": {"gamma": gamma}},
        )
        for gamma, seeds in ((0.9, range(6)), (0.99, range(2)))
        for seed in seeds
    ]
    found = curves(runs, CurveRequest("loss", group_by=("gamma", "env")), pool)
    many, few, *thin = found.lines
    assert (many.label, few.label) == ("gamma=0.9, env=E-v0 · mean of 6", "gamma=0.99, env=E-v0 · mean of 2")
    own = [run.metrics("loss") for run in runs[:6]]
    expected = learning_curve([(t["step"], t["value"]) for t in own], rng=np.random.default_rng(0))
    for name, column in (("value", many.y), ("low", many.low), ("high", many.high), ("steps", many.x)):
        np.testing.assert_array_equal(column, getattr(expected, name))
    assert many.runs == tuple(run.id for run in runs[:6])
    assert few.low is None and few.high is None, "an interval over only two runs"
    assert [line.thin for line in thin] == [few.key] * 2 and [line.runs for line in thin] == [
        (run.id,) for run in runs[6:]
    ]
    read_answer(found)
    [line] = curves(runs, CurveRequest("loss", group_by=()), pool).lines
    assert line.label == "mean of 8"
    by_seed = curves(runs, CurveRequest("loss", group_by=("seed",)), pool).lines
    assert [line.label for line in by_seed if line.thin is None][-1] == "seed=5"
    apart = [run_in(tmp_path / f"apart{i}", [metrics(i, loss=1)]) for i in (1, 2)]
    found = curves(apart, CurveRequest("loss", group_by=("worker",)), pool)
    assert [line.runs for line in found.lines] == [(run.id,) for run in apart]
    assert "share no part of the x axis; each is drawn" in found.notes[0]


def test_a_mean_is_the_same_in_every_part_of_the_axis(tmp_path: Path, pool: ColumnPool) -> None:
    runs = [run_in(tmp_path / f"run{seed}", noisy(1500, seed)) for seed in range(6)]
    [whole] = curves(runs, CurveRequest("loss", group_by=()), pool).lines
    for start, end, part in (
        (whole.x[81], whole.x[119], slice(80, 121)),
        (whole.x[90] + 1, whole.x[91] - 1, slice(90, 92)),  # between two of its points
    ):
        request = CurveRequest("loss", start=start, end=end, group_by=())
        [line] = curves(runs, request, pool).lines
        for name in ("x", "y", "low", "high"):
            np.testing.assert_array_equal(getattr(line, name), getattr(whole, name)[part])


def test_a_mean_that_a_short_run_ends_says_so(tmp_path: Path, pool: ColumnPool) -> None:
    lengths = {"long": 200, "longer": 210, "short": 100}
    runs = [run_in(tmp_path / name, noisy(points), label=name) for name, points in lengths.items()]
    found = curves(runs, CurveRequest("loss", group_by=()), pool)
    assert found.notes == ["the mean ends where short does: it covers only what all runs reached"]
    assert not curves(runs[:2], CurveRequest("loss", group_by=()), pool).notes


def test_a_mean_mixes_no_libraries_algorithms_or_environments(tmp_path: Path, pool: ColumnPool) -> None:
    runs = [
        run_in(tmp_path / f"{name}{seed}", noisy(20, seed), config={"algorithm": name})
        for name in ("ppo", "dqn")
        for seed in (1, 2)
    ]
    lines = curves(runs, CurveRequest("loss", group_by=()), pool).lines
    labels = [line.label for line in lines if line.thin is None]
    assert labels == ["algorithm=ppo · mean of 2", "algorithm=dqn · mean of 2"]


def test_labels_are_the_shortest_that_distinguish(tmp_path: Path, pool: ColumnPool) -> None:
    labels = ["toy ppo E-v0 seed 1", "toy ppo E-v0 seed 2", "toy dqn E-v0 seed 1"]
    runs = [run_in(tmp_path / f"r{i}", noisy(3), label=label) for i, label in enumerate(labels)]
    found = [line.label for line in curves(runs, CurveRequest("loss"), pool).lines]
    assert found == ["ppo seed 1", "ppo seed 2", "dqn seed 1"]
    assert curves(runs[:1], CurveRequest("loss"), pool).lines[0].label == labels[0]


def test_a_live_run_grows_and_a_large_one_is_read_bit_by_bit(tmp_path: Path, pool: ColumnPool) -> None:
    live = run_in(tmp_path / "live", noisy(10), state=State.CANCELLED)
    assert len(curves([live], CurveRequest("loss"), pool).lines[0].x) == 10
    append(tmp_path / "live", [metrics(1000, loss=3)])
    assert curves([live], CurveRequest("loss"), pool).lines[0].x[-1] == 1000
    large = [run_in(tmp_path / f"large{i}", noisy(2000, 1)) for i in range(3)]
    reading, read = Reading(), []
    for _ in range(50):
        reading = Reading()
        assert len(list(pool.columns(large, reading, seconds=0))) == 3
        read.append(reading.fraction)
        if reading.fraction == 1:
            break
    assert read == sorted(read) and 0 < read[0] < 1 and read[-1] == 1


def test_runs_without_the_metric_or_that_cannot_be_read(tmp_path: Path, pool: ColumnPool) -> None:
    good, empty = run_in(tmp_path / "good", noisy(5)), run_in(tmp_path / "empty", [])
    broken = run_in(tmp_path / "broken", [])
    (tmp_path / "broken" / "telemetry.jsonl").unlink()
    (tmp_path / "broken" / "telemetry.jsonl").mkdir()
    found = curves([good, empty, broken], CurveRequest("loss"), pool)
    assert [line.key for line in found.lines] == ["good"]
    assert found.notes == [
        f"broken (broken) cannot be read: {tmp_path}/broken/telemetry.jsonl is a folder, not a file"
    ]
    nothing = curves([empty], CurveRequest("loss"), pool)
    assert nothing.lines == [] and nothing.range is None and nothing.answer()[1] == []


def test_names_of_metrics_and_last_values(tmp_path: Path, pool: ColumnPool) -> None:
    run = run_in(tmp_path / "run", [metrics(1, b=1, a=2, episode_return=5), metrics(2, a=3, b="NaN")])
    append(tmp_path / "run", [metrics(1, **{"system/cpu_percent": 7})], "system.jsonl")
    other = run_in(tmp_path / "other", [metrics(1, c=1)])
    assert metric_names([run, other], pool) == ["episode_return", "a", "b", "c", "system/cpu_percent"]
    assert results(run, pool).last == {"a": 3, "b": None, "episode_return": 5, "system/cpu_percent": 7}


def test_large_whole_numbers_are_exact(tmp_path: Path, pool: ColumnPool) -> None:
    run = run_in(tmp_path / "run", [metrics(2**53 - 1, 0, big=2**40 + 1, small=0.5)])
    [(x, y)] = read_answer(curves([run], CurveRequest("big"), pool)).values()
    assert (x[0], y[0], y.dtype) == (2**53 - 1, 2**40 + 1, np.float64)
    [(_, y)] = read_answer(curves([run], CurveRequest("small"), pool)).values()
    assert y.dtype == np.float32


@pytest.mark.parametrize(
    "wrong",
    [
        *({"x": "hour"}, {"points": 1}, {"points": 10**6}),
        *({"smoothing": 1}, {"smoothing": float("nan")}, {"start": float("inf")}),
    ],
)
def test_what_cannot_be_drawn_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match=f"{wrong[next(iter(wrong))]!r}"):
        CurveRequest("loss", **wrong)


def test_only_so_many_runs_are_open_and_all_are_shown(tmp_path: Path, pool: ColumnPool) -> None:
    runs = [run_in(tmp_path / f"run{i}", noisy(3, i)) for i in range(MAX_OPEN + 44)]
    for _ in range(2):
        lines = curves(runs, CurveRequest("loss"), pool).lines
        assert len(lines) == MAX_OPEN + 44
    mapped = Path("/proc/self/maps").read_text().count(str(tmp_path / "cache"))
    assert mapped <= MAX_OPEN
