"""Training frames: environments have a render mode only while drawing; no drawing error fails a training."""

import numpy as np
import pytest
from mosaic_contract import FastlaneConfig
from mosaic_contract.fastlane import FrameReader, Hud, TrainingFrames


class Environment:
    """An environment whose frames are filled with its number."""

    def __init__(self, number=0, render_mode=None):
        if number < 0:
            raise ValueError("there are\nno negative ones")
        self.number = number
        self.render_mode = render_mode
        self.unwrapped = self

    def render(self):
        return np.full((2, 3, 3), self.number, np.uint8)


class Undrawable(Environment):
    def __init__(self, render_mode=None):
        if render_mode:
            raise ImportError("no such\nlibrary")
        super().__init__()


class Blank(Environment):
    def render(self):
        raise RuntimeError("no display")


@pytest.fixture
def frames_of(tmp_path):
    made = []

    def make(environments, **settings):
        frames = TrainingFrames("Smoke-v0", tmp_path, FastlaneConfig(**settings), environments)
        made.append(frames)
        return frames

    yield make
    for frames in made:
        frames.close()


@pytest.fixture
def reader(tmp_path):
    reader = FrameReader(tmp_path)
    yield reader
    reader.close()


def publish(frames):
    frames.publish(episodes=5, steps=70, steps_per_second=None)


def test_as_many_are_shown_as_the_grid_has_places_and_outside_of_a_drawing_none_has_a_render_mode(
    frames_of, reader
):
    frames, made = frames_of(5, grid=2), []
    shown = []
    for number in range(3):
        env = frames.make(lambda number=number, **mode: made.append(mode) or Environment(number, **mode))
        shown.append(frames.show(env, lambda env=env: (env.number, 10.0 * env.number)))
        assert env.render_mode is None
    assert shown == [False, True, False]
    assert made == [{"render_mode": "rgb_array"}] * 2 + [{}]
    publish(frames)
    frame = reader.read()
    assert (frame.height, frame.width) == (2, 10)  # two environments side by side, and a gap
    assert frame.hud == Hud(5, 70, 0.5, 5.0, None, text="means of 2 environments")


def test_a_single_environment_is_shown_with_its_own_numbers(frames_of, reader):
    frames = frames_of(1, grid=4)
    assert frames.show(frames.make(Environment), lambda: (1.5, 2.5))
    assert not frames.due()
    reader.watch(60)
    assert frames.due()
    publish(frames)
    assert reader.read().hud == Hud(5, 70, 1.5, 2.5, None)


def test_one_that_cannot_be_made_to_draw_is_made_without_and_viewers_get_a_notice(frames_of, reader):
    frames = frames_of(1)
    env = frames.make(Undrawable)
    assert not frames.show(env, lambda: (0.0, 0.0))
    reported = "Smoke-v0 cannot be made with the render mode rgb_array: ImportError: no such library"
    assert reader.read() is None and reader.notice == reported
    reader.watch(60)
    assert not frames.due()


def test_one_that_cannot_be_made_at_all_is_no_matter_of_frames(frames_of):
    frames = frames_of(1)
    with pytest.raises(ValueError, match="no negative ones"):
        frames.make(lambda **mode: Environment(-1, **mode))
    assert frames.show(frames.make(Environment), lambda: (0.0, 0.0))


def test_a_drawing_that_fails_is_the_last(frames_of, reader, capsys):
    frames = frames_of(1)
    frames.show(frames.make(Blank), lambda: (0.0, 0.0))
    reader.watch(60)
    assert frames.due()
    publish(frames)
    reported = "Smoke-v0 cannot be rendered here: RuntimeError: no display"
    assert reader.read() is None and reader.notice == reported
    assert reported in capsys.readouterr().err
    assert not frames.due()


def test_a_score_that_is_no_number_ends_the_frames_and_not_the_training(frames_of, reader):
    frames = frames_of(1)
    frames.show(frames.make(Environment), lambda: (None, 0.0))
    publish(frames)
    assert reader.read() is None and "cannot be rendered here: TypeError" in reader.notice
