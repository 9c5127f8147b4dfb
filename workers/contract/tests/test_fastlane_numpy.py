"""Frames from NumPy arrays: every dtype and layout that renderers return; clear errors for invalid arrays."""

import numpy as np
import pytest
from mosaic_contract.fastlane import FrameError, FrameReader, FrameWriter, Hud

RANDOM = np.random.default_rng(1)


@pytest.fixture
def writer(tmp_path):
    writer = FrameWriter(tmp_path)
    yield writer
    writer.close()


@pytest.fixture
def reader(tmp_path):
    reader = FrameReader(tmp_path)
    yield reader
    reader.close()


def shown(reader):
    frame = reader.read()
    return np.frombuffer(frame.pixels, "u1").reshape(frame.shape)


def random_frame(*shape):
    return RANDOM.integers(0, 256, shape, dtype=np.uint8)


@pytest.mark.parametrize(
    "shape", [(1, 1), (1, 1, 3), (84, 84), (84, 84, 1), (84, 84, 3), (480, 640, 4), (2160, 3840, 3)], ids=str
)
def test_bytes_arrive_bit_for_bit(writer, reader, shape):
    for step in range(3):
        pixels = random_frame(*shape)
        writer.publish(pixels, Hud(step=step))
        assert np.array_equal(shown(reader), pixels.reshape((*shape, 1)[:3]))


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_floats_from_0_to_1_are_scaled(writer, reader, kind):
    levels = np.arange(256, dtype=np.float64)
    writer.publish((levels / 255).astype(kind).reshape(16, 16))
    assert np.abs(shown(reader).ravel() - levels).max() <= (1 if kind is np.float16 else 0)
    writer.publish(np.array([[0, 1, 0.5]], kind))
    assert shown(reader).ravel().tolist() == [0, 255, 128]


def test_bool_is_black_and_white(writer, reader):
    writer.publish(np.array([[True, False]]))
    assert shown(reader).ravel().tolist() == [255, 0]


def test_arrays_need_not_be_contiguous(writer, reader):
    pixels = random_frame(40, 60, 3)
    turned = pixels.transpose(1, 0, 2)
    for view in (pixels[::-1], pixels[:, ::-1], pixels[::2, ::3], turned, pixels[..., ::-1]):
        writer.publish(view)
        assert np.array_equal(shown(reader), view)


def test_the_numbers_of_the_hud_may_be_numpys(writer, reader):
    writer.publish(
        random_frame(2, 2), Hud(np.int64(3), np.uint32(4), np.float32(0.5), np.array(1.5), np.float64(2))
    )
    assert reader.read().hud == Hud(3, 4, 0.5, 1.5, 2.0)


@pytest.mark.parametrize(
    ("pixels", "message"),
    [
        (np.zeros((4, 4), np.int64), "uint8, bool or floats from 0 to 1, not int64"),
        (np.zeros((4, 4), complex), "not complex128"),
        (np.array([["a"]]), "not <U1"),
        (np.array([[None]]), "not object"),
        (np.full((4, 4), 255.0), "must hold 0 to 1, not 255 to 255: scale it, or convert it to uint8"),
        (np.array([[0.5, -0.1]]), "-0.1 to 0.5"),
        (np.array([[0.5, np.nan]]), "nan to nan"),
        (np.zeros((0, 4, 3)), r"shape is \(0, 4, 3\)"),
        (np.zeros((2, 4, 4, 3), np.uint8), r"not \(2, 4, 4, 3\)"),
        (np.zeros((), np.uint8), r"not \(\)"),
        ([np.zeros((4, 4, 3), np.uint8)], "not a list"),
    ],
    ids=str,
)
def test_an_invalid_frame_is_refused_and_the_ring_continues(writer, reader, pixels, message):
    with pytest.raises(FrameError, match=message):
        writer.publish(pixels)
    assert reader.read() is None
    writer.publish(random_frame(4, 4, 3))
    assert reader.read().sequence == 1
