"""NumPy arrays survive a message unchanged."""

import json

import numpy as np
import pytest
from mosaic_contract import decode_line, encode_line, pack, unpack
from mosaic_contract.codec import OPERATING_LINE_LIMIT

RANDOM = np.random.default_rng(1)
NAMES = [
    "bool",
    "int8",
    "uint8",
    "int16",
    "uint16",
    "int32",
    "uint32",
    "int64",
    "uint64",
    "float16",
    "float32",
    "float64",
]


def sent(value):
    """Return a value after a round trip through a message."""
    return unpack(decode_line(encode_line({"value": pack(value)}, OPERATING_LINE_LIMIT))["value"])


@pytest.mark.parametrize("dtype", NAMES)
@pytest.mark.parametrize("shape", [(), (5,), (2, 3), (2, 0), (1, 2, 3, 4)])
def test_an_array_arrives_as_it_was(dtype, shape):
    array = np.asarray(RANDOM.random(shape) * 100).astype(dtype)
    arrived = sent(array)
    assert type(arrived) is np.ndarray
    assert (arrived.dtype, arrived.shape) == (array.dtype, array.shape)
    assert np.array_equal(arrived, array)


def test_every_bit_arrives():
    array = np.array([np.nan, np.inf, -np.inf, -0.0, 1e-45, 0.1], "f4")
    assert sent(array).tobytes() == array.tobytes()


@pytest.mark.parametrize(
    "array",
    [
        np.arange(12).reshape(3, 4).T,
        np.arange(12)[::-2],
        np.asfortranarray(np.arange(6).reshape(2, 3)),
        np.arange(3, dtype=">i4"),
        np.broadcast_to(np.float32(2), (2, 2)),
    ],
    ids=["transposed", "backwards", "Fortran's order", "big-endian", "broadcast"],
)
def test_however_it_lies_in_memory(array):
    assert np.array_equal(sent(array), array)


def test_what_arrives_may_be_written_to():
    arrived = sent(np.zeros(3))
    arrived[0] = 1.0
    assert arrived.sum() == 1.0


def test_scalars_arrive_as_pythons_numbers():
    for scalar, plain in (
        (np.int64(3), 3),
        (np.float32(0.5), 0.5),
        (np.bool_(True), True),
        (np.str_("a"), "a"),
    ):
        arrived = sent(scalar)
        assert arrived == plain and type(arrived) is type(plain)


def test_containers_keep_their_form():
    observation = {"image": np.zeros((2, 2), "u1"), "state": (np.int8(1), [np.ones(1)]), "mission": "go"}
    arrived = sent(observation)
    assert np.array_equal(arrived["image"], observation["image"]) and arrived["mission"] == "go"
    assert arrived["state"][0] == 1 and np.array_equal(arrived["state"][1][0], np.ones(1))


def test_arrays_of_other_kinds_become_lists():
    assert sent(np.array([["a", "b"]])) == [["a", "b"]]
    assert sent(np.array([np.int64(1), "x"], object)) == [1, "x"]
    assert json.loads(encode_line({"value": pack(np.array([None]))}))["value"] == [None]


def test_a_frame_of_atari_fits_into_a_line():
    frame = RANDOM.integers(0, 256, (210, 160, 3)).astype("u1")
    assert np.array_equal(sent(frame), frame)
