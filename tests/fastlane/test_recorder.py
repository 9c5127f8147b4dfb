"""Packets decode to the frames they encode; a recorder is bounded in seconds and in bytes."""

from __future__ import annotations

import zlib
from io import BytesIO

import numpy as np
import pytest
from mosaic_contract.fastlane import Hud
from PIL import Image

from mosaic_lab.fastlane import Packet, Pixels, Recorder
from mosaic_lab.fastlane.encoding import Encoding


def noise(height: int, width: int, channels: int) -> Pixels:
    return np.random.default_rng(0).integers(0, 256, (height, width, channels), np.uint8)


def packet(
    pixels: Pixels, encoding: Encoding = "raw", published: float = 0.0, data: bytes | None = None
) -> Packet:
    height, width, channels = pixels.shape
    data = pixels.tobytes() if data is None else data
    return Packet(1, published, width, height, channels, encoding, data, Hud())


@pytest.mark.parametrize("shape", [(1, 1, 1), (7, 5, 3), (84, 84, 1), (30, 20, 4)])
def test_raw_and_deflate_lose_nothing(shape: tuple[int, int, int]) -> None:
    pixels = noise(*shape)
    assert np.array_equal(packet(pixels).decode(), pixels)
    deflated = packet(pixels, "deflate", data=zlib.compress(pixels.tobytes(), 1))
    assert np.array_equal(deflated.decode(), pixels)


@pytest.mark.parametrize("channels", [1, 3])
def test_a_jpeg_decodes_to_nearly_the_same(channels: int) -> None:
    pixels = np.full((40, 60, channels), 130, np.uint8)
    file = BytesIO()
    Image.fromarray(pixels[:, :, 0] if channels == 1 else pixels).save(file, "JPEG")
    decoded = packet(pixels, "jpeg", data=file.getvalue()).decode()
    assert decoded.shape == pixels.shape
    assert np.abs(decoded.astype(int) - 130).max() <= 3


@pytest.mark.parametrize("encoding", ["raw", "deflate", "jpeg"])
def test_data_that_is_no_such_frame_is_refused_by_name(encoding: Encoding) -> None:
    with pytest.raises(ValueError, match=f"frame 1 is not a valid {encoding} of shape"):
        packet(noise(4, 4, 3), encoding, data=b"too short").decode()


def test_a_deflate_bomb_is_not_unpacked() -> None:
    bomb = zlib.compress(bytes(1 << 26), 9)
    with pytest.raises(ValueError, match="not a valid deflate of shape"):
        packet(noise(4, 4, 3), "deflate", data=bomb).decode()


def test_the_last_seconds_are_kept() -> None:
    recorder = Recorder(seconds=10)
    for second in range(100):
        recorder.add(packet(noise(2, 2, 3), published=float(second)))
    assert [p.published for p in recorder.last(10)] == list(range(89, 100))
    assert [p.published for p in recorder.last(2)] == [97, 98, 99]
    assert len(recorder.last(1e9)) == 11


def test_bytes_are_bounded_before_seconds() -> None:
    recorder = Recorder(seconds=1e9, limit_bytes=100_000)
    pixels = noise(100, 100, 1)
    for second in range(100):
        recorder.add(packet(pixels, published=float(second)))
    assert len(recorder.last(1e9)) == 9, "9 frames of 10,000 bytes, plus their overhead"
    recorder.add(packet(noise(1000, 1000, 1), published=100.0))
    assert recorder.last(1e9) == []
    recorder.add(packet(pixels, published=101.0))
    assert len(recorder.last(1e9)) == 1


def test_a_clock_that_was_set_back_restarts_the_recording() -> None:
    recorder = Recorder(seconds=10)
    for published in (1000.0, 1001.0, 500.0, 501.0):
        recorder.add(packet(noise(2, 2, 3), published=published))
    assert [p.published for p in recorder.last(5)] == [500.0, 501.0]
