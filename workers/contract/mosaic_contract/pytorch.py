"""PyTorch for shims: its device among the GPUs visible to a run, optimizers that start without the compiler,
small networks without overhead, and conversion of states to bytes and back without executing code from a
file."""

from __future__ import annotations

import functools
import io
import os
import pickle
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, Callable, Mapping

from mosaic_contract.checkpoints import loading
from mosaic_contract.errors import ConfigError

_COMPILER = "torch._dynamo"


class _DeferredCompiler(ModuleType):
    """The placeholder of PyTorch's compiler: any attribute other than these two functions imports it."""

    @staticmethod
    def graph_break(msg: str = "") -> None:
        """Do nothing, like the compiler's own function outside compiled code."""

    def disable(self, function: Callable[..., Any], *options: Any, **named: Any) -> Callable[..., Any]:
        """Return the function, excluded from compilation once there is a compiler."""

        def call(*args: Any, **kwargs: Any) -> Any:
            if (compiler := sys.modules[_COMPILER]) is self:
                return function(*args, **kwargs)
            return compiler.disable(function, *options, **named)(*args, **kwargs)

        return call

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name != "__path__":  # `inspect` reads such names of every module
            raise AttributeError(name)
        if sys.modules.get(_COMPILER) is self:
            del sys.modules[_COMPILER]
        return getattr(import_module(_COMPILER), name)


def defer_compiler() -> None:
    """Keep PyTorch's optimizers from importing its compiler, which they only exclude themselves from. The
    import takes half of the time in which a training or policy starts. `torch.compile` works as ever."""
    sys.modules.setdefault(_COMPILER, _DeferredCompiler(_COMPILER))


def prepare_acting() -> None:
    """Prepare PyTorch to act for single observations: one thread, and no validation of distributions, which
    takes longer than a small network."""
    torch = import_module("torch")
    torch.set_num_threads(1)
    torch.distributions.Distribution.set_default_validate_args(False)


def in_sequence(*modules: Any) -> Callable[[Any], Any]:
    """Return a function with the same operations as these modules and the layers of each `Sequential` in
    sequence, with the weights that they have now.

    PyTorch's overhead for a module (hooks, look-up of weights) takes as long as the operation of a small
    layer.
    """
    nn = import_module("torch").nn
    layers = [
        layer for module in modules for layer in (module if type(module) is nn.Sequential else [module])
    ]
    operations = [
        functools.partial(nn.functional.linear, weight=layer.weight, bias=layer.bias)
        if type(layer) is nn.Linear
        else layer.forward
        for layer in layers
    ]

    def run(x: Any) -> Any:
        for operation in operations:
            x = operation(x)
        return x

    return run


def torch_device(requested: str) -> str:
    """Return PyTorch's name for the requested device: "cpu", "cuda", "cuda:0", or "auto", a GPU if one is
    visible, else the CPU. Raises `ConfigError` for a GPU if PyTorch finds none, and for "auto" as
    `check_visible_gpus` does."""
    if requested == "cpu":
        return requested
    if check_visible_gpus():
        return "cuda" if requested == "auto" else requested
    if requested == "auto":
        return "cpu"
    raise ConfigError(
        f"device={requested!r}, and no GPU is visible to this run: give it one (lab.train(..., gpus=1)), or "
        "choose device='auto' or 'cpu'"
    )


def check_visible_gpus() -> bool:
    """Return whether PyTorch finds a GPU. Raises `ConfigError` if it finds none of the GPUs given to the run.
    Imports torch."""
    torch = import_module("torch")
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible and not torch.cuda.is_available():
        raise ConfigError(
            f"PyTorch {torch.__version__} finds none of this run's GPUs (CUDA_VISIBLE_DEVICES={visible}): "
            "install a PyTorch that fits their driver, or choose gpus=0 (and no device='cuda')"
        )
    return bool(torch.cuda.is_available())


def torch_bytes(state: Any) -> bytes:
    """Return a state as the bytes of a file written by `torch.save`."""
    file = io.BytesIO()
    import_module("torch").save(state, file)
    return file.getvalue()


def load_torch(path: Path, part: str) -> dict[str, Any]:
    """Return the state in a file, on the CPU. Only weights are loaded: code in the file is not executed.

    Raises `ConfigError` for an unreadable file, and for a state without a dictionary `part` or with NaN
    in it.
    """
    with loading(path):
        try:
            state = import_module("torch").load(path, map_location="cpu", weights_only=True)
        except pickle.UnpicklingError:  # its text recommends executing the code in the file
            raise ValueError(
                "it has more than weights, and is not unpickled, which could execute any code"
            ) from None
        if not isinstance(state, dict) or not isinstance(state.get(part), dict):
            raise ValueError(f"it has no {part!r}")
        check_weights(state[part], part)
    return dict(state)


def check_weights(state: Mapping[str, Any], part: str) -> None:
    """Raise `ValueError` if a tensor or array in a state (nested mappings), this part of a checkpoint, has
    NaN."""
    if name := _nan_in(state):
        raise ValueError(f"{name} is NaN in its {part}: the training diverged, choose an earlier one")


def _nan_in(state: Mapping[str, Any]) -> str:
    """Return the name of the first tensor or array with NaN in nested mappings; empty if there is none."""
    for name, part in state.items():
        if isinstance(part, Mapping):
            if inner := _nan_in(part):
                return f"{name}.{inner}"
        elif hasattr(part, "shape") and (part != part).any():
            return str(name)
    return ""


def load_optimizer(optimizer: Any, state: Mapping[str, Any]) -> None:
    """Load a saved state into an optimizer, but keep the optimizer's own options, such as its learning rate,
    which a resumed training may have changed. A schedule's scaling of the saved rate is applied to the new
    rate. Raises `ValueError` if the state has other parameters."""
    groups = optimizer.state_dict()["param_groups"]
    for group, saved in zip(groups, state["param_groups"]):
        if (first := saved.get("initial_lr")) is not None:
            is_unchanged = group["lr"] == first
            group["lr"] = saved["lr"] if is_unchanged else group["lr"] * saved["lr"] / first
    if len(groups) == len(state["param_groups"]):
        state = {**state, "param_groups": groups}
    optimizer.load_state_dict(state)
