"""Recipes: training as in bar2023, with momentum, learning-rate drops, weight decay and augmentation, as frozen
settings. `steps.py` says why there is another training loop.
"""

import math
from collections.abc import Callable, Iterator
from typing import Annotated, Literal

import torch
from pydantic import BaseModel, Field, model_validator
from torch import Tensor, nn
from torch.nn import functional

from prunefield.core import seeds
from prunefield.core.errors import UsageError
from prunefield.masks.mask import Mask
from prunefield.tasks import Batch
from prunefield.training.compact import BREAK_EVEN, hold_compact
from prunefield.training.examples import TrainingExamples
from prunefield.training.steps import check_loss

Keep = Callable[[str, Callable[[], Tensor]], Tensor]  # as `State.tensor`


class Recipe(BaseModel, frozen=True, extra="forbid", allow_inf_nan=False):
    """SGD with momentum, batches of 128, lr 0.1, divided by 10 after 1/2 and 3/4 of the training: bar2023, Sec. 8.

    An epoch is a new permutation of all examples, split into batches of nearly equal size, so that none is tiny. The
    order and the augmentation of a step come from streams that depend only on the seed, names and step.
    """

    epochs: int = Field(default=160, ge=0, description="number of passes over the training examples")
    batch_size: int = Field(default=128, ge=2, description="maximum number of examples per step")
    optimizer: Literal["sgd", "adam"] = Field(default="sgd", description="the update rule")
    lr: float = Field(default=0.1, gt=0, description="initial learning rate")
    milestones: tuple[Annotated[float, Field(ge=0, le=1)], ...] = Field(
        default=(0.5, 0.75), description="fractions of the epochs after which the learning rate drops"
    )
    factor: float = Field(default=0.1, gt=0, le=1, description="factor by which the learning rate drops")
    warmup: int = Field(default=0, ge=0, description="steps over which the learning rate rises linearly from zero")
    momentum: float = Field(default=0.9, ge=0, lt=1, description="momentum of sgd")
    nesterov: bool = Field(default=False, description="whether to use Nesterov momentum")
    weight_decay: float = Field(
        default=1e-4, ge=0, description="L2 penalty added to the gradient, as a factor of the weight"
    )
    pad: int = Field(default=4, ge=0, description="maximum shift of an image in pixels; 0 turns shifts off")
    flip: bool = Field(default=True, description="mirror each image with probability 1/2")
    compact: float = Field(
        default=BREAK_EVEN,
        ge=0,
        le=1,
        description="at or below this density, large linear layers are trained without their pruned weights",
        exclude_if=lambda value: value == BREAK_EVEN,  # it came later: ids of runs without it stay as they are
    )
    channels_last: bool = Field(
        default=False,
        description="put the channels of an image last in memory: faster convolutions, slightly different rounding",
        exclude_if=lambda value: not value,
    )

    @model_validator(mode="after")
    def _check_nesterov(self) -> "Recipe":
        if self.nesterov and not (self.optimizer == "sgd" and self.momentum):
            raise UsageError("nesterov needs the optimizer sgd with momentum above 0")
        return self

    def steps(self, examples: int) -> int:
        """The number of steps in all epochs."""
        return self.epochs * math.ceil(examples / self.batch_size)

    def lr_at(self, step: int, each: int) -> float:
        """The learning rate of step 0, 1, … where an epoch has `each` steps.

        >>> [round(Recipe().lr_at(epoch * 391, 391), 6) for epoch in (0, 79, 80, 120)]
        [0.1, 0.1, 0.01, 0.001]
        """
        passed = sum(step // each >= round(drop * self.epochs) for drop in self.milestones)
        return self.lr * self.factor**passed * min(1.0, (step + 1) / (self.warmup or 1))

    def make_optimizer(self, net: nn.Module, keep: Keep) -> torch.optim.Optimizer:
        """The optimizer, whose buffers `keep` knows by name, so that they can be saved and restored."""
        pairs, decay = list(net.named_parameters()), self.weight_decay
        parameters = [parameter for _, parameter in pairs]
        if self.optimizer == "adam":
            found = torch.optim.Adam(parameters, self.lr, weight_decay=decay, fused=True)
            names = ("exp_avg", "exp_avg_sq")
        else:
            found = torch.optim.SGD(
                parameters, self.lr, self.momentum, weight_decay=decay, nesterov=self.nesterov, fused=True
            )
            names = ("momentum_buffer",)
        for name, parameter in pairs:
            start = lambda parameter=parameter: torch.zeros_like(parameter)  # noqa: E731
            for part in names:
                buffer = keep(f"{part}:{name}", start)
                if buffer.shape != parameter.shape:  # saved before the layer was pruned further
                    buffer = keep(f"{part}:{name}", start)
                found.state.setdefault(parameter, {})[part] = buffer
            if self.optimizer == "adam":
                found.state[parameter]["step"] = keep(f"step:{name}", lambda: torch.zeros(()))
        return found

    def train(
        self,
        net: nn.Module,
        examples: TrainingExamples,
        *,
        mask: Mask,
        keep: Keep,
        seed: int,
        names: tuple[str | int, ...] = (),
        start: int = 0,
        loss: Callable[[nn.Module, Batch], Tensor] | None = None,
    ) -> Iterator[tuple[int, float]]:
        """Takes the steps start + 1, … on the cross-entropy or another `loss`; pruned weights are and stay exactly
        zero.

        After each step, yields the number of steps taken and the last loss; at that point the net's state dict and the
        buffers of `keep` hold the complete state. Until the last step is taken, large linear layers of at most the
        density `compact` are `CompactLinear`.

        >>> examples = TrainingExamples(torch.tensor([[-1.0], [1.0]]), torch.tensor([0, 1]))
        >>> net, recipe = nn.Linear(1, 2), Recipe(epochs=30, milestones=(), pad=0, flip=False)
        >>> losses = [loss for _, loss in recipe.train(net, examples, mask=Mask({}), keep=lambda _, new: new(), seed=0)]
        >>> losses[-1] < losses[0]
        True
        """
        if self.channels_last:
            check_channels(net)
        mask.apply_(net)
        net.train()
        with hold_compact(net, mask, self.compact):
            yield from self._take_steps(net, examples, mask, keep, seed, names, start, loss)

    def _take_steps(
        self,
        net: nn.Module,
        examples: TrainingExamples,
        mask: Mask,
        keep: Keep,
        seed: int,
        names: tuple[str | int, ...],
        start: int,
        loss: Callable[[nn.Module, Batch], Tensor] | None,
    ) -> Iterator[tuple[int, float]]:
        optimizer = self.make_optimizer(net, keep)
        mask.hold_(net, optimizer)
        each = math.ceil(len(examples.y) / self.batch_size)
        order: tuple[Tensor, ...] = ()
        for step in range(start, self.epochs * each):
            epoch, place = divmod(step, each)
            if not order or place == 0:
                stream = seeds.generator(seed, *names, "order", epoch)
                order = torch.randperm(len(examples.y), generator=stream).tensor_split(each)
            x, y = examples.take(order[place])
            if isinstance(x, Tensor) and x.ndim == 4 and (self.pad or self.flip):
                stream = seeds.generator(seed, *names, "augment", step)
                x = augment_images(x, pad=self.pad, flip=self.flip, black=examples.black, generator=stream)
            if self.channels_last and isinstance(x, Tensor) and x.ndim == 4:
                x = x.contiguous(memory_format=torch.channels_last)  # weights stay: what is saved does not depend on it
            optimizer.param_groups[0]["lr"] = self.lr_at(step, each)
            optimizer.zero_grad()
            found = functional.cross_entropy(net(x), y) if loss is None else loss(net, Batch(x, y))
            check_loss(value := found.item(), step + 1, self.lr)
            found.backward()
            optimizer.step()
            yield step + 1, value


def check_channels(net: nn.Module) -> None:
    """Refuses to put channels last where torch 2.13 may write beyond its memory: with fewer than 8 of them (1 × 1
    convolutions, on CPUs without AVX-512).
    """
    for name, part in net.named_modules():
        if isinstance(part, nn.Conv2d) and part.out_channels % 8:
            raise UsageError(
                f"channels_last needs convolutions with a multiple of 8 channels, but {name!r} has "
                f"{part.out_channels}; set channels_last = false"
            )


def augment_images(x: Tensor, *, pad: int, flip: bool, black: Tensor, generator: torch.Generator) -> Tensor:
    """Shifts each image of (n, channels, height, width) by up to `pad` pixels along each axis and mirrors half of them.

    All shifts are equally likely; what comes in from outside is `black`, of a shape that fits one image's channels.

    >>> x = torch.arange(4.0).view(1, 1, 2, 2)
    >>> augment_images(x, pad=0, flip=False, black=torch.zeros(1), generator=torch.Generator()).flatten().tolist()
    [0.0, 1.0, 2.0, 3.0]
    """
    n, _, height, width = x.shape
    shift = torch.randint(2 * pad + 1, (2, n, 1), generator=generator)
    mirrored = torch.rand((n, 1), generator=generator) < (0.5 if flip else 0.0)
    rows, columns = shift[0] + torch.arange(height), torch.arange(width)
    columns = shift[1] + torch.where(mirrored, width - 1 - columns, columns)
    ground = black.view(-1, 1, 1)
    padded = functional.pad(x - ground, (pad,) * 4).permute(0, 2, 3, 1)
    chosen = padded[torch.arange(n)[:, None, None], rows[:, :, None], columns[:, None, :]]
    return (chosen.permute(0, 3, 1, 2) + ground).contiguous()
