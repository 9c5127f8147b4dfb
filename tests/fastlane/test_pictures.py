"""Exported PNG, GIF and MP4 files decode with third-party codecs to the original frames and times."""

from __future__ import annotations

from io import BytesIO

import av
import numpy as np
import pytest
from mosaic_contract.fastlane import Hud
from PIL import Image, ImageSequence

from mosaic_lab.fastlane import Packet, Pixels
from mosaic_lab.fastlane.pictures import gif, mp4, png


def noise(height: int, width: int, channels: int, seed: int = 0) -> Pixels:
    return np.random.default_rng(seed).integers(0, 256, (height, width, channels), np.uint8)


def scene(step: int, height: int = 84, width: int = 84) -> Pixels:
    """A frame of few colours with a block that moves with `step`."""
    pixels = np.full((height, width, 3), 255, np.uint8)
    pixels[height // 2 : height // 2 + 8, step : step + 10] = (202, 152, 101)
    pixels[-4:] = step
    return pixels


def packets(pictures: list[Pixels], times: list[float]) -> list[Packet]:
    return [
        Packet(n, 1000.0 + t, p.shape[1], p.shape[0], p.shape[2], "raw", p.tobytes(), Hud())
        for n, (p, t) in enumerate(zip(pictures, times, strict=True))
    ]


def gif_frames(data: bytes) -> tuple[list[Pixels], list[float]]:
    """Return the frames and the duration of each in seconds."""
    with Image.open(BytesIO(data)) as image:
        assert image.info["loop"] == 0
        frames = [(np.asarray(f.convert("RGB")), f.info["duration"]) for f in ImageSequence.Iterator(image)]
    return [pixels for pixels, _ in frames], [duration / 1000 for _, duration in frames]


def mp4_frames(data: bytes) -> tuple[list[Pixels], list[float]]:
    """Return the frames and the start of each in seconds."""
    with av.open(BytesIO(data)) as film:
        frames = [(frame.to_ndarray(format="rgb24"), frame.time) for frame in film.decode(video=0)]
    return [pixels for pixels, _ in frames], [time for _, time in frames]


@pytest.mark.parametrize("shape", [(1, 1, 1), (1, 1, 3), (33, 65, 1), (480, 640, 3), (20, 30, 4)])
def test_a_png_keeps_every_pixel(shape: tuple[int, int, int]) -> None:
    pixels = noise(*shape)
    with Image.open(BytesIO(png(pixels))) as image:
        assert image.format == "PNG"
        assert np.array_equal(np.asarray(image).reshape(shape), pixels)


def test_a_gif_of_few_colours_is_exact_and_keeps_its_times() -> None:
    pictures = [scene(step) for step in range(20)]
    times = [step * 0.0333 for step in range(19)] + [2.0]
    frames, durations = gif_frames(gif(packets(pictures, times)))
    assert all(np.array_equal(a, b) for a, b in zip(frames, pictures, strict=True))
    starts = np.cumsum([0, *durations[:-1]])
    assert np.abs(starts - times).max() <= 0.0051


def test_a_gif_of_many_colours_comes_near() -> None:
    y, x = np.mgrid[0:128, 0:128]
    slope = np.stack([x * 2, y * 2, (x + y)], 2).astype(np.uint8)
    frames, _ = gif_frames(gif(packets([slope, slope[::-1].copy()], [0, 0.1])))
    assert np.abs(frames[0].astype(int) - slope).mean() < 8


def test_frames_that_come_faster_than_a_gif_can_show_are_left_out() -> None:
    pictures = [scene(step) for step in range(60)]
    frames, durations = gif_frames(gif(packets(pictures, [step / 200 for step in range(60)])))
    assert 12 <= len(frames) <= 16
    assert min(durations) >= 0.02
    assert sum(durations[:-1]) == pytest.approx(59 / 200, abs=0.03)


def test_a_still_scene_lasts_as_long_as_it_did() -> None:
    frames, durations = gif_frames(gif(packets([scene(1)] * 4, [0, 1, 2, 3])))
    assert sum(durations) == pytest.approx(4)
    assert all(np.array_equal(frame, scene(1)) for frame in frames)


@pytest.mark.parametrize("channels", [1, 3, 4])
def test_an_mp4_shows_each_frame_at_its_time(channels: int) -> None:
    levels = [30, 90, 150, 210]
    pictures = [np.full((48, 64, channels), level, np.uint8) for level in levels]
    for picture in pictures:
        picture[:, :, 3:] = 255
    times = [0.0, 0.1, 0.5, 0.55]
    frames, starts = mp4_frames(mp4(packets(pictures, times)))
    assert starts == pytest.approx([*times, 0.55 + 0.183], abs=0.002)
    assert [frame.mean() for frame in frames] == pytest.approx([*levels, 210], abs=4)


def test_colours_of_an_mp4_are_those_of_the_frames_in_every_size() -> None:
    for height, width in ((90, 160), (720, 1280)):
        red = np.full((height, width, 3), (220, 40, 30), np.uint8)
        data = mp4(packets([red], [0]))
        with av.open(BytesIO(data)) as film:
            (context,) = (stream.codec_context for stream in film.streams.video)
            assert (context.colorspace, context.color_range) == (5, 1)  # BT.601, limited range
        assert mp4_frames(data)[0][0][5, 5] == pytest.approx((220, 40, 30), abs=3)


@pytest.mark.parametrize("shape", [(1, 1, 3), (84, 84, 3), (33, 65, 1), (401, 599, 3)])
def test_an_mp4_has_even_sides_and_enlarges_small_frames_by_whole_factors(
    shape: tuple[int, int, int],
) -> None:
    frames, _ = mp4_frames(mp4(packets([noise(*shape)], [0])))
    height, width = frames[0].shape[:2]
    assert height % 2 == width % 2 == 0
    assert max(height, width) >= 400
    factor = max(1, 480 // max(shape[:2]))
    assert (height - shape[0] * factor, width - shape[1] * factor) in [(0, 0), (0, 1), (1, 0), (1, 1)]


@pytest.mark.parametrize("make", [gif, mp4])
def test_frames_of_several_sizes_share_a_canvas(make: object) -> None:
    small, large = np.full((20, 30, 3), 200, np.uint8), np.full((500, 600, 3), 100, np.uint8)
    data = make(packets([small, large, small], [0, 0.1, 0.2]))  # type: ignore[operator]
    frames, _ = gif_frames(data) if make is gif else mp4_frames(data)
    assert {frame.shape for frame in frames} == {(500, 600, 3)}
    assert frames[0][250, 300] == pytest.approx(200, abs=4)
    assert frames[0][0, 0] == pytest.approx(0, abs=4)
    assert frames[1][0, 0] == pytest.approx(100, abs=4)


@pytest.mark.parametrize("make", [gif, mp4])
def test_a_recording_of_nothing_says_so(make: object) -> None:
    with pytest.raises(ValueError, match="there are no frames"):
        make([])  # type: ignore[operator]
