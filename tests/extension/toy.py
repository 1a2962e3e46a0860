"""A small run from another package: a random walk, so that tests of the frame need no paper."""

import os
import time
from collections.abc import Iterator

import torch
from pydantic import Field

from prunefield.core.errors import RunError
from prunefield.runs import Record, Run, State


class Toy(Run):
    """A random walk that can be slow, fail, die or need another run."""

    seed: int = 0
    steps: int = Field(default=50, ge=1)
    scale: float = 1.0
    pause: float = Field(default=0.0, ge=0, description="seconds per step")
    fail_at: int | None = None
    die_at: int | None = None
    gate: str = Field(default="", description="a file without which it does not pass the middle; beside it, its log")
    of: Run | None = None

    def seconds(self) -> float:
        return self.steps * max(self.pause, 1e-3)

    def __call__(self, state: State) -> Iterator[Record | None]:
        noise = state.generator(self.seed, "noise")
        walk = state.tensor("walk", lambda: torch.zeros(8))
        layer = state.module("layer", torch.nn.Linear(8, 8, bias=False))
        if "step" not in state.values:
            torch.nn.init.normal_(layer.get_parameter("weight"), generator=noise)
        start = 0.0 if self.of is None else state.read(self.of).records[-1]["mean"]
        if self.gate:
            with open(f"{self.gate}.log", "a") as log:
                log.write(f"{self.seed} {state.values.get('step', 0)}\n")
        for step in range(state.values.get("step", 0), self.steps):
            while self.gate and step == self.steps // 2 and not os.path.exists(self.gate):
                time.sleep(0.05)
                yield None
            if step == self.fail_at:
                raise RunError(f"the walk broke at step {step}")
            if step == self.die_at:
                os._exit(9)
            walk += self.scale * layer(torch.randn(8, generator=noise)).detach()
            time.sleep(self.pause)
            state.values["step"] = step + 1
            state.done = (step + 1) / self.steps
            mean = start + walk.mean().item()
            yield Record({"step": step, "mean": mean}, {"walk": walk.clone()}) if step % 10 == 9 else None
