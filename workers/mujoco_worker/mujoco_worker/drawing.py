"""Selects MuJoCo's rendering library for machines without a display: EGL or OSMesa, whichever is available.
MuJoCo, Gymnasium and dm_control all read the variable MUJOCO_GL when imported."""

from __future__ import annotations

import ctypes
import os
import sys

_VARIABLE = "MUJOCO_GL"
_DISABLED = "disable"
_ERROR = (
    f"MuJoCo draws with EGL or OSMesa, and has neither here ({_VARIABLE}={_DISABLED}): install Debian's "
    "packages libegl1 and libgl1 (EGL), or libosmesa6"
)


def choose_backend() -> None:
    """Set MUJOCO_GL, unless the user has, to an available library. Call this before MuJoCo is imported."""
    if sys.platform == "linux" and _VARIABLE not in os.environ:
        os.environ[_VARIABLE] = "egl" if _egl_draws() else "osmesa" if _loads("libOSMesa.so.8") else _DISABLED


def check_drawing(render_mode: str | None) -> None:
    """Raise `RuntimeError` for a render mode if no library is available, with the packages to install."""
    if render_mode is not None and os.environ.get(_VARIABLE) == _DISABLED:
        raise RuntimeError(_ERROR)


def _egl_draws() -> bool:
    """Whether EGL has a device, including Mesa's software renderer."""
    if not (_loads("libGL.so.1") and _loads("libEGL.so.1")):
        return False
    find = ctypes.CDLL("libEGL.so.1").eglGetProcAddress
    find.restype, find.argtypes = ctypes.c_void_p, [ctypes.c_char_p]
    address = find(b"eglQueryDevicesEXT")
    if not address:
        return False
    count = ctypes.c_int(0)
    signature = ctypes.CFUNCTYPE(ctypes.c_uint, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
    return bool(signature(address)(0, None, ctypes.byref(count))) and count.value > 0


def _loads(library: str) -> bool:
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True
