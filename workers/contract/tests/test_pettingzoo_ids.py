"""PettingZoo environments are found by id without being imported."""

import sys
import tempfile
import unittest
from pathlib import Path

from mosaic_contract import ConfigError
from mosaic_contract.pettingzoo_ids import _names, parallel_module, pettingzoo_ids, pettingzoo_module

FILES = {
    "pettingzoo/classic/go_v5.py": "env = None",
    "pettingzoo/sisl/multiwalker_v9.py": "env = parallel_env = None",
    "mpe2/simple_spread_v3.py": "env = parallel_env = None",
}


class PettingZooIds(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        for name, text in FILES.items():
            file = Path(folder.name, name)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
            for package in (file.parent, file.parent.parent):
                (package / "__init__.py").touch()
        before = set(sys.modules)
        sys.path.insert(0, folder.name)
        _names.cache_clear()

        def forget():
            sys.path.remove(folder.name)
            _names.cache_clear()
            for name in set(sys.modules) - before:
                del sys.modules[name]

        self.addCleanup(forget)

    def test_an_id_may_have_its_family_or_not(self):
        for env_id in ("simple_spread_v3", "mpe2/simple_spread_v3", "mpe/simple_spread_v3"):
            assert pettingzoo_module(env_id) == "mpe2.simple_spread_v3"
        for env_id in ("multiwalker_v9", "sisl/multiwalker_v9"):
            assert pettingzoo_module(env_id) == "pettingzoo.sisl.multiwalker_v9"
        for env_id in ("CartPole-v1", "ALE/Pong-v5", "mpe2/multiwalker_v9", "nothing_v0", ""):
            assert pettingzoo_module(env_id) is None
        assert pettingzoo_ids() == ["classic/go_v5", "sisl/multiwalker_v9", "mpe2/simple_spread_v3"]
        assert not {"mpe2", "pettingzoo"} & set(sys.modules)

    def test_an_environment_that_is_played_in_turns_is_not_parallel(self):
        assert parallel_module("simple_spread_v3").__name__ == "mpe2.simple_spread_v3"
        assert parallel_module("CartPole-v1") is None
        with self.assertRaisesRegex(ConfigError, "go_v5 is played in turns"):
            parallel_module("go_v5")
