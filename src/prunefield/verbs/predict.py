"""From data alone: will a ReLU neuron localise, where, and how sure is that?

DATA is a `.npy` file with inputs (n, …), a `.npz` file with inputs `x` and labels `y`, or the name of a task. The
theory is that of lufkin2024 (Eq. 5): it looks at the stimulus properties S1 to S3, at the kurtosis and the amplifier of
an input and at the covariances of the classes with the shortest and the longest lengthscale, and integrates the
gradient flow from several first weights. Without labels, class 0 is the data with every input shuffled over the
examples.
"""

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prunefield.errors import UsageError
from prunefield.names import modules
from prunefield.options import add_json, print_json, settings_of

if TYPE_CHECKING:
    from torch import Tensor

    from prunefield.measure.prediction import Prediction


def add_options(parser: ArgumentParser) -> None:
    parser.add_argument("data", metavar="DATA", help=f"FILE.npy, FILE.npz or a task: {', '.join(modules('tasks'))}")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a setting of the task: g=3")
    parser.add_argument("--samples", type=int, default=20_000, metavar="N", help="examples of a task [default: 20000]")
    parser.add_argument("--inits", type=int, default=8, metavar="N", help="first weights [default: 8]")
    parser.add_argument("--folds", type=int, default=4, metavar="N", help="parts that must agree [default: 4]")
    parser.add_argument("--time", type=float, default=100.0, help="steps × learning rate [default: 100]")
    parser.add_argument(
        "--seed", type=int, default=0, help="of the first weights and of a task's examples [default: 0]"
    )
    parser.add_argument("--draw", type=Path, metavar="FILE", help="draw it: FILE.svg, FILE.pdf or FILE.png")
    add_json(parser)


def execute(args: Namespace) -> int:
    import torch

    from prunefield.measure.prediction import predict
    from prunefield.seeds import generator

    for name, least in (("samples", 100), ("inits", 1), ("folds", 2)):
        if getattr(args, name) < least:
            raise UsageError(f"--{name} must be at least {least}, got {getattr(args, name)}")
    torch.set_num_threads(1)  # as in every run: small matrices are slower on several
    x, y, shape = load(args)
    prediction = predict(
        x, y, shape, inits=args.inits, folds=args.folds, time=args.time, generator=generator(args.seed, "init")
    )
    if args.draw:
        draw(prediction, shape, args.draw)
    if args.json:
        print_json(as_json(prediction))
    else:
        print("\n".join(as_lines(prediction, shape)))
    return 0


def as_lines(found: "Prediction", shape: tuple[int, ...]) -> list[str]:
    """The prediction as a person reads it."""
    import torch

    excess, unmet = found.excess, [name for name, check in found.properties.items() if not check.met]
    doubt = "; one example dominates it, so the moments may not exist" if excess.doubtful else ""
    places = [tuple(map(int, torch.unravel_index(peak, shape))) for peak in found.peaks]
    starts = [
        f"  start {index}: IPR × N {float(local):.1f}, peak at {', '.join(map(str, place))}, "
        f"the same in {float(steady):.0%} of the folds"
        for index, (local, place, steady) in enumerate(zip(found.concentration, places, found.steadiness, strict=True))
    ]
    return [
        *(
            f"{name}: {'met' if check.met else 'NOT met'} (effect {check.effect:.3f}, p = {check.p:.2g})"
            for name, check in found.properties.items()
        ),
        f"excess kurtosis of an input: {excess.value:.3f}, 95 % interval {excess.low:.3f} to {excess.high:.3f}{doubt}",
        *starts,
        f"Will a ReLU neuron localise? {found.answer}; {found.agreement:.0%} of the folds of the data say so too.",
        *([f"Take it with care: {' and '.join(unmet)} not met, on which the theory rests."] if unmet else []),
    ]


def as_json(found: "Prediction") -> dict[str, Any]:
    """The prediction as plain values."""
    return {
        "answer": found.answer,
        "agreement": found.agreement,
        "properties": {name: check._asdict() for name, check in found.properties.items()},
        "excess_kurtosis": {"value": found.excess.value, "low": found.excess.low, "high": found.excess.high},
        "ipr_times_n": found.concentration.tolist(),
        "peaks": found.peaks.tolist(),
        "steadiness": found.steadiness.tolist(),
    }


def draw(found: "Prediction", shape: tuple[int, ...], path: Path) -> None:
    """The amplifier with the line that divides, the covariances and the fields, as a file."""
    import matplotlib
    from matplotlib.figure import Figure

    from prunefield.files import write_whole
    from prunefield.report.drawings import STYLE, encode
    from prunefield.theory.amplifier import SLOPE

    if path.suffix not in (".svg", ".pdf", ".png"):
        raise UsageError(f"--draw takes a file that ends in .svg, .pdf or .png, got {path}")
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(10, 3), layout="constrained")
        phi, rows, fields = figure.subplots(1, 3)
    grid, values = found.amplifier
    phi.plot(grid, SLOPE * grid, "--", color="0.5", label="√(2/π) a: above it localises")
    phi.plot(grid, values, color="black", label="φ(a) of the data")
    phi.set(xlabel="a", title="amplifier")
    phi.legend()
    middle = found.covariances.shape[1] // 2
    for label, covariance in enumerate(found.covariances):
        rows.plot(covariance[middle], label=f"class {label}")
    rows.set(xlabel="input", title=f"covariance with input {middle}")
    rows.legend()
    if len(shape) == 1:
        fields.plot(found.fields.T)
        fields.set(xlabel="input", title="predicted fields")
    else:
        fields.imshow(found.fields[0].view(-1, *shape[-2:])[0].numpy(), cmap="RdBu_r")
        fields.set(title="predicted field of start 0")
    write_whole(path, encode(figure, path.suffix[1:]))


def load(args: Namespace) -> "tuple[Tensor, Tensor | None, tuple[int, ...]]":
    """Inputs (n, N), labels (n,) or None, and the shape of one input."""
    path = Path(args.data)
    if path.suffix in (".npy", ".npz"):
        return _read(path)
    from prunefield.seeds import generator
    from prunefield.study import change
    from prunefield.tasks import Task

    if path.exists():
        raise UsageError(f"{path} is neither .npy nor .npz; save an array with numpy.save or numpy.savez(x=…, y=…)")
    settings = settings_of(args.data)
    for text in args.set:
        change(settings, text)
    task = Task.parse(settings)
    batch = task.sample(args.samples, generator=generator(args.seed, "data"))
    return batch.x, batch.y, task.shape


def _read(path: Path) -> "tuple[Tensor, Tensor | None, tuple[int, ...]]":
    import numpy as np
    import torch

    from prunefield.data.arrays import read_arrays

    arrays = read_arrays(path, ("x",), ("y",), width=8)
    x, y = arrays["x"], arrays.get("y")
    if x.ndim < 2 or x.dtype.kind not in "iuf" or not x.size:
        raise UsageError(f"{path}: x must be real numbers of shape (n, …), got {x.dtype} of shape {x.shape}")
    if y is not None and (y.shape != (len(x),) or y.dtype.kind not in "buifUS"):
        raise UsageError(f"{path}: y must have one label per example, shape ({len(x)},), got {y.dtype} of {y.shape}")
    labels = None if y is None else torch.from_numpy(np.unique(y, return_inverse=True)[1])
    return torch.from_numpy(x.reshape(len(x), -1).astype(np.float64)), labels, x.shape[1:]
