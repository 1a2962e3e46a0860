"""Predict from data alone whether and where a ReLU neuron will localise, and with what certainty.

DATA is a `.npy` file with inputs (n, …), a `.npz` file with inputs `x` and labels `y`, or the name of a task. The
theory is that of lufkin2024 (Eq. 5): it looks at the stimulus properties S1 to S3, at the kurtosis and the amplifier of
an input and at the covariances of the classes with the shortest and the longest lengthscale, and integrates the
gradient flow from several initial weights, on the data and on resamples of them. The answer is yes or no if 95 % of the
resamples agree. Without labels, class 0 has no correlations.
"""

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prunefield.cli.options import add_json, print_json
from prunefield.core.errors import UsageError
from prunefield.core.names import modules
from prunefield.core.settings import change_setting, read_settings

if TYPE_CHECKING:
    from torch import Tensor

    from prunefield.measures.prediction import Prediction


def add_options(parser: ArgumentParser) -> None:
    parser.add_argument("data", metavar="DATA", help=f"FILE.npy, FILE.npz or a task: {', '.join(modules('tasks'))}")
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="change a setting of the task, as in g=3"
    )
    parser.add_argument(
        "--samples", type=int, default=20_000, metavar="N", help="number of examples of a task [default: 20000]"
    )
    parser.add_argument("--inits", type=int, default=5, metavar="N", help="number of initialisations [default: 5]")
    parser.add_argument(
        "--resamples", type=int, metavar="N", help="number of resamples of the data [default: 40, or 20 without S2]"
    )
    parser.add_argument("--time", type=float, default=1000.0, help="end time, steps × learning rate [default: 1000]")
    parser.add_argument(
        "--seed", type=int, default=0, help="seed of initial weights, resamples and a task's examples [default: 0]"
    )
    parser.add_argument("--draw", type=Path, metavar="FILE", help="draw the prediction: FILE.svg, FILE.pdf or FILE.png")
    add_json(parser)


def execute(args: Namespace) -> int:
    import torch

    from prunefield.measures.prediction import predict

    if args.samples < 100:
        raise UsageError(f"--samples must be at least 100, not {args.samples}")
    torch.set_num_threads(1)  # as in every run: small matrices are slower on several
    x, y, shape = load(args)
    prediction = predict(x, y, shape, inits=args.inits, resamples=args.resamples, time=args.time, seed=args.seed)
    if args.draw:
        draw(prediction, args.draw)
    if args.json:
        print_json(as_json(prediction))
    else:
        print("\n".join([*prediction.describe(), *list_peaks(prediction)]))
    return 0


def list_peaks(found: "Prediction") -> list[str]:
    """Where the field of each initialisation ends."""
    import torch

    places = [tuple(map(int, torch.unravel_index(peak, found.shape))) for peak in found.peaks]
    return [
        f"  start {index}: {float(width):.1f} inputs wide, peak at {', '.join(map(str, place))}, "
        f"the same in {float(steady):.0%} of the resamples"
        for index, (width, place, steady) in enumerate(zip(found.widths, places, found.steadiness, strict=True))
    ]


def as_json(found: "Prediction") -> dict[str, Any]:
    """The prediction as plain values."""
    return {
        "answer": found.answer,
        "leaning": found.leaning,
        "certainty": found.certainty,
        "needed": found.needed,
        "examples": found.examples,
        "properties": {name: check._asdict() for name, check in found.properties.items()},
        "excess_kurtosis": {**found.excess._asdict(), "doubtful": found.excess.doubtful},
        "widths": found.widths.tolist(),
        "widths_straight": found.straight.tolist(),
        "lengthscale": found.lengthscale,
        "ipr_times_n": found.concentration.tolist(),
        "peaks": found.peaks.tolist(),
        "steadiness": found.steadiness.tolist(),
        "notes": list(found.notes),
    }


def draw(found: "Prediction", path: Path) -> None:
    """The amplifier with the line that divides, the covariances and the fields, as a file."""
    import matplotlib
    from matplotlib.figure import Figure

    from prunefield.core.files import write_whole
    from prunefield.report.drawings import STYLE, encode
    from prunefield.theory.amplifier import SLOPE

    if path.suffix not in (".svg", ".pdf", ".png"):
        raise UsageError(f"--draw takes a file that ends in .svg, .pdf or .png, not {path}")
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(10, 3), layout="constrained")
        phi, rows, fields = figure.subplots(1, 3)
    grid, values = found.amplifier
    phi.plot(grid, SLOPE * grid, "--", color="0.5", label="√(2/π) a: above it localises")
    phi.plot(grid, values, color="black", label="φ(a) of the data")
    phi.set(xlabel="a", title="amplifier")
    phi.legend(loc="lower right")
    for label, covariance in enumerate(found.covariances):
        rows.plot(covariance, label=f"class {label}")
    rows.set(xlabel="site", title="covariance with the middle site")
    rows.legend()
    if len(found.shape) == 1:
        fields.plot(found.fields.T)
        fields.set(xlabel="input", title="predicted fields")
    else:
        fields.imshow(found.picture.numpy(), cmap="RdBu_r")
        fields.set(title="predicted field of start 0")
    write_whole(path, encode(figure, path.suffix[1:]))


def load(args: Namespace) -> "tuple[Tensor, Tensor | None, tuple[int, ...]]":
    """Inputs (n, N), labels (n,) or None, and the shape of one input."""
    path = Path(args.data)
    if path.suffix in (".npy", ".npz"):
        return _read(path)
    from prunefield.core.seeds import generator
    from prunefield.tasks import Task

    if path.exists():
        raise UsageError(f"{path} is neither .npy nor .npz; save an array with numpy.save or numpy.savez(x=…, y=…)")
    settings = read_settings(args.data)
    for text in args.set:
        change_setting(settings, text)
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
        raise UsageError(f"{path}: x must be real numbers of shape (n, …), not {x.dtype} of shape {x.shape}")
    if y is not None and (y.shape != (len(x),) or y.dtype.kind not in "buifUS"):
        raise UsageError(f"{path}: y must have one label per example, shape ({len(x)},), not {y.dtype} of {y.shape}")
    labels = None if y is None else torch.from_numpy(np.unique(y, return_inverse=True)[1])
    return torch.from_numpy(x.reshape(len(x), -1).astype(np.float64)), labels, x.shape[1:]
