"""Training configurations: every accepted spelling is read, and all problems are reported at once."""

import json
import tempfile
import unittest
from pathlib import Path

from mosaic_contract import (
    ConfigError,
    FastlaneConfig,
    Parameter,
    TrainingConfig,
    check_hyperparameters,
    upstream_folder,
    with_limits,
)
from mosaic_contract.config import read_config_file
from mosaic_contract.hyperparameters import width_problems

KNOWN = {
    p.name: p
    for p in (
        Parameter("learning_rate", float, 3e-4),
        Parameter("num_envs", int, 4),
        Parameter("capture_video", bool, False),
        Parameter("backend", str, "torch", choices=("torch", "jax")),
        Parameter("target_kl", float, None),
    )
}
BASE = {"algorithm": "ppo", "env_id": "CartPole-v1", "total_timesteps": 1000, "seed": 1}


def read(**fields):
    return TrainingConfig.from_dict({**BASE, **fields}, Path("/run"))


def problems_of(action, *arguments):
    try:
        action(*arguments)
    except ConfigError as error:
        return error.problems
    raise AssertionError("no ConfigError")


def load_config(path):
    return TrainingConfig.from_dict(read_config_file(path), path.parent)


class Reading(unittest.TestCase):
    def test_the_three_places_for_hyperparameters_and_algo_are_accepted(self):
        platform = {
            "algo": "ppo",
            "env_id": "CartPole-v1",
            "total_timesteps": 1e6,
            "learning_rate": 3e-4,
            "hyperparameters": {"num_envs": 4},
            "extras": {"algo_params": {"capture_video": True}},
        }
        config = TrainingConfig.from_dict(platform, Path("/run"))
        assert config.algorithm == "ppo"
        assert config.total_timesteps == 1_000_000 and isinstance(config.total_timesteps, int)
        assert config.hyperparameters == {"learning_rate": 3e-4, "num_envs": 4, "capture_video": True}
        assert config.raw == platform

    def test_a_file_without_run_dir_runs_in_its_own_folder(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "config.json")
            path.write_text(json.dumps({**BASE, "run_id": "r1"}))
            config = load_config(path)
            assert config.run_id == "r1"
            assert config.run_dir == Path(folder).resolve()
            assert config.checkpoints_dir == config.run_dir / "checkpoints"

    def test_checkpoint_and_fastlane_are_objects(self):
        config = read(
            checkpoint={"every_timesteps": 500, "resume_from": "a.pt", "stop_at": 700},
            fastlane={"enabled": True, "max_fps": 10},
        )
        assert config.checkpoint.every_timesteps == 500 and config.checkpoint.resume_from == "a.pt"
        assert config.checkpoint.stop_at == config.end_step == 700
        assert config.fastlane == FastlaneConfig(enabled=True, max_fps=10, grid=1)
        assert read().fastlane == read(fastlane=None).fastlane == FastlaneConfig(True, 60, 1)

    def test_every_field_of_fastlane_is_checked(self):
        wrong = {"enabled": "yes", "max_fps": 0, "grid": 65, "max_fbs": 10}
        assert problems_of(lambda: read(fastlane=wrong)) == [
            "unknown field 'max_fbs' in fastlane (lab.train's frames=); did you mean 'max_fps'?",
            "fastlane.enabled (lab.train's frames=, --no-frames) must be true or false, got 'yes'",
            "fastlane.max_fps (lab.train's frames={'max_fps': ...}) must be a number above 0 and at most "
            "1000, got 0",
            "fastlane.grid (lab.train's frames={'grid': ...}, --frames-grid) must be at most 64, got 65",
        ]
        for field, values in (
            ("enabled", (0, "false", [])),
            ("max_fps", (True, "30", float("nan"), float("inf"), -1, 1001)),
            ("grid", (True, "4", 1.5, 0, -2)),
        ):
            for value in values:
                (problem,) = problems_of(lambda given={field: value}: read(fastlane=given))
                assert problem.startswith(f"fastlane.{field} (lab.train's frames=") and ") must be" in problem

    def test_what_is_written_is_read_back(self):
        config = read(run_id="r", checkpoint={"every_timesteps": 5}, fastlane={"grid": 4}, learning_rate=0.1)
        again = TrainingConfig.from_dict(json.loads(json.dumps(config.to_dict())), Path("/other"))
        assert again.to_dict() == config.to_dict()

    def test_all_problems_come_in_one_error(self):
        given = {
            "seed": -1,
            "total_timesteps": "many",
            "checkpoint": {"every_timestep": 5},
            "fastlane": True,
            "num_envs": 4,
            "hyperparameters": {"num_envs": 8},
        }
        problems = problems_of(TrainingConfig.from_dict, given, Path("/run"))
        text = "\n".join(problems)
        for expected in (
            "algorithm is missing (lab.train's algorithm=)",
            "env_id is missing (lab.train's env=)",
            "seed must be at least 0, got -1",
            "total_timesteps must be an integer, got 'many'",
            "unknown field 'every_timestep' in checkpoint "
            "(lab.train's checkpoint_every=, resume_from=, stop_at=); did you mean 'every_timesteps'?",
            "fastlane must be an object",
            "'num_envs' is given twice: 8 and 4",
        ):
            assert expected in text, expected
        assert len(problems) == 7

    def test_algorithm_and_algo_must_agree(self):
        assert "disagree" in problems_of(lambda: read(algo="dqn"))[0]

    def test_a_file_that_cannot_be_used_says_which_and_why(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "config.json")
            assert "cannot be read: No such file" in problems_of(load_config, path)[0]
            for text, reason in (("{", "is not JSON"), ("[]", "not a JSON object but a list")):
                path.write_text(text)
                assert reason in problems_of(load_config, path)[0]
            path.write_bytes(b"\xff\xfe")
            assert "is not JSON" in problems_of(load_config, path)[0]


class Hyperparameters(unittest.TestCase):
    def test_defaults_fill_what_was_not_given(self):
        resolved = check_hyperparameters({"learning_rate": 1}, KNOWN)
        assert resolved["learning_rate"] == 1.0 and isinstance(resolved["learning_rate"], float)
        assert resolved["num_envs"] == 4 and resolved["target_kl"] is None

    def test_integers_may_be_written_as_round_floats(self):
        assert check_hyperparameters({"num_envs": 1e1}, KNOWN)["num_envs"] == 10

    def test_unknown_names_and_wrong_types_are_all_named(self):
        given = {"learnin_rate": 1.0, "num_envs": True, "backend": "caffe", "target_kl": None, "zzzz": 1}
        problems = problems_of(check_hyperparameters, given, KNOWN, ["the action space does not fit"])
        assert problems == [
            "the action space does not fit",
            "unknown hyperparameter 'learnin_rate'; did you mean 'learning_rate'?",
            "hyperparameter 'num_envs': expected int, got bool True",
            "hyperparameter 'backend': 'caffe' is not one of 'torch', 'jax'",
            problems[-1],
        ]
        assert problems[-1].startswith("unknown hyperparameter 'zzzz'")

    def test_a_field_of_the_configuration_is_distinguished_from_a_hyperparameter(self):
        problems = problems_of(check_hyperparameters, {"env_id": "Acrobot-v1", "run_id": "mine"}, KNOWN)
        assert problems == [
            "'env_id' is a field of the configuration (lab.train's env=), not a hyperparameter",
            "'run_id' is a field of the configuration, not a hyperparameter",
        ]

    def test_a_near_miss_of_what_a_training_is_started_with_is_distinguished_from_a_hyperparameter(self):
        frames = "; did you mean lab.train's frames= (--no-frames, --frames-grid)?"
        assert problems_of(check_hyperparameters, {"frame": True, "frames": False, "gpu": 1}, KNOWN) == [
            f"unknown hyperparameter 'frame'{frames}",
            f"unknown hyperparameter 'frames'{frames}",
            "unknown hyperparameter 'gpu'; did you mean lab.train's gpus= (--gpus)?",
        ]
        for name in ("seeds", "sead"):
            seed = f"unknown hyperparameter {name!r}; did you mean lab.train's seed= (--seed)?"
            assert problems_of(check_hyperparameters, {name: [1, 2]}, KNOWN) == [seed]
        keywords = {"environ": "env_vars", "env_var": "env_vars", "pass_env": "pass_env_vars"}
        for name, keyword in keywords.items():
            hint = f"did you mean lab.train's {keyword}= (--pass-env-vars)?"
            reported = [f"unknown hyperparameter {name!r}; {hint}"]
            assert problems_of(check_hyperparameters, {name: {}}, KNOWN) == reported

    def test_where_none_is_near_the_hyperparameters_are_listed_and_nothing_else(self):
        assert problems_of(check_hyperparameters, {"device": "cuda"}, KNOWN) == [
            "unknown hyperparameter 'device'; known: backend, capture_video, learning_rate, num_envs, "
            "target_kl"
        ]

    def test_what_another_library_calls_it_is_reported_by_the_name_that_it_has_here(self):
        def reported(name, *known):
            return problems_of(check_hyperparameters, {name: 1}, {one: Parameter(one, int) for one in known})

        assert reported("learning_rate", "lr", "gamma") == [
            "unknown hyperparameter 'learning_rate'; here it is called 'lr'"
        ]
        several = ["unknown hyperparameter 'lr'; here it is called 'actor_lr' or 'critic_lr'"]
        assert reported("lr", "critic_lr", "tau", "actor_lr") == several
        settings = "unknown hyperparameter 'settings'; here it is called 'env_config'"
        assert reported("settings", "env_config") == [settings]
        (none_here,) = reported("settings", "gamma")
        assert 'give env="module:Id-v0"' in none_here
        assert reported("gamma", "tau") == ["unknown hyperparameter 'gamma'; known: tau"]

    def test_lists_that_are_not_widths_of_layers_are_reported(self):
        assert list(width_problems({"hidden": [64, 64], "heads": [], "gamma": 0.9}, ["heads"])) == []
        reported = list(width_problems({"hidden": [], "heads": [0], "tail": [64.0]}, ["heads"]))
        assert reported[0] == ("hyperparameter 'hidden' must be a list of widths, such as [64, 64], got []")
        assert len(reported) == 3

    def test_numbers_outside_their_limits_are_all_reported(self):
        kinds = {"num_envs": int, "warm_up": int, "tau": float, "lr": float, "gamma": float, "v_min": float}
        known = {name: Parameter(name, kind, None) for name, kind in kinds.items()}
        known["widths"] = Parameter("widths", list, [64])
        limits = {"minima": {"warm_up": 0, "v_min": None}, "above_zero": ["lr"], "to_one": ["gamma"]}
        known = with_limits(known, **limits)
        within = {"num_envs": 1, "warm_up": 0, "tau": 0, "lr": 1e-9, "gamma": 1, "v_min": -9, "widths": [-1]}
        assert check_hyperparameters(within, known) == within
        assert check_hyperparameters({}, known)["lr"] is None
        outside = {"num_envs": 0, "tau": -0.5, "warm_up": -1, "lr": 0.0, "gamma": 1.5}
        assert problems_of(check_hyperparameters, outside, known) == [
            "hyperparameter 'num_envs': 0 is less than 1",
            "hyperparameter 'tau': -0.5 is less than 0",
            "hyperparameter 'warm_up': -1 is less than 0",
            "hyperparameter 'lr': 0.0 is not above 0",
            "hyperparameter 'gamma': 1.5 is more than 1",
        ]


class Upstream(unittest.TestCase):
    def test_its_folder_is_found_and_its_absence_reported(self):
        assert upstream_folder("json", "JSON") == Path(json.__file__).parent
        for library, reported in (("CleanRL", "CleanRL"), ("", "no_such_package")):
            with self.assertRaisesRegex(ConfigError, f"^{reported} is not installed in this environment"):
                upstream_folder("no_such_package", library)
