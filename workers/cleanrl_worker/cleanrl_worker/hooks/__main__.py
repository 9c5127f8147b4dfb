"""`python -m cleanrl_worker.hooks MODULE ARGUMENT…`: run a script with the hooks, as `python -m` does."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

from cleanrl_worker.hooks import install_from_environment


def main() -> None:
    name, *arguments = sys.argv[1:]
    script = sys.modules["__main__"] = ModuleType("__main__")  # contains only the script's variables
    training = install_from_environment()
    spec = find_spec(name)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"there is no module {name}", name=name)
    vars(script).update(__spec__=spec, __loader__=spec.loader, __package__=spec.parent, __file__=spec.origin)
    sys.argv = [spec.origin, *arguments]
    code = compile(Path(spec.origin).read_bytes(), spec.origin, "exec", dont_inherit=True)
    training.run(code, vars(script))


if __name__ == "__main__":
    main()
