"""Run by the worker's interpreter: save a model trained with VecNormalize, and print upstream's actions.

`FOLDER` gets `model.zip`, `vecnormalize.pkl` and `inside.zip`, which contains both. Prints the best actions
for observations drawn with seed 3.
"""

from __future__ import annotations

import json
import shutil
import sys
import zipfile
from pathlib import Path

import gymnasium
import numpy as np
from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

folder = Path(sys.argv[1])
env = VecNormalize(DummyVecEnv([lambda: gymnasium.make("Pendulum-v1")]))
model = PPO("MlpPolicy", env, n_steps=64, batch_size=64, n_epochs=1, seed=1, device="cpu")
model.learn(256)
model.save(folder / "model.zip")
env.save(str(folder / "vecnormalize.pkl"))
shutil.copy(folder / "model.zip", folder / "inside.zip")
with zipfile.ZipFile(folder / "inside.zip", "a") as archive:
    archive.write(folder / "vecnormalize.pkl", "vecnormalize.pkl")
seen = 5 * np.random.default_rng(3).normal(size=(10, 3)).astype(np.float32)
best = [model.predict(env.normalize_obs(one), deterministic=True)[0].tolist() for one in seen]
print(json.dumps(best))
