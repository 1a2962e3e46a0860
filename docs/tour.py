# ruff: noqa: B018
"""The cells of docs/tour.ipynb; `make tour` executes them and writes the notebook with its outputs."""

# %% [markdown]
# # A tour of prunefield
#
# Some networks learn receptive fields that see a small patch of their input, others do not. prunefield asks which data,
# networks and pruning rules make the difference. Five calls answer in five steps: `predict`, `Study`, `measure`,
# `prune` and `reproduce`. All of it takes about a minute on a laptop, needs no download, and what is computed once is
# kept in the folder `tour-store`.

# %%
# Installs prunefield if it is missing: from the checkout that this notebook lies in, if it lies in one.
# Anywhere else, as in Colab, this needs a package index that has prunefield.
import importlib.util
import subprocess
import sys
from pathlib import Path

if importlib.util.find_spec("prunefield") is None:
    folders = [Path.cwd(), *Path.cwd().parents]
    source = next((str(folder) for folder in folders if (folder / "src" / "prunefield").is_dir()), "prunefield")
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", source], check=True)

# %%
import torch

import prunefield as pf

# %% [markdown]
# ## 1. Ask the data: `predict`
#
# Two classes of images of 10 × 10 pixels that differ only in how smooth they are. With a large gain `g` the pixels are
# nearly black and white, with sharp edges; with a small one they are Gaussian, with the same kind of correlations.

# %%
edges = pf.Task.parse({"kind": "nlgp", "g": 100.0, "dimensions": 2, "size": 10, "lengthscales": (1.0, 2.0)})
smooth = pf.Task.parse({**edges.settings(), "g": 0.01})
x, y = edges.sample(4000, generator=torch.Generator().manual_seed(0))
pf.predict(x, y, edges.shape, inits=3, resamples=20)

# %% [markdown]
# Nothing was trained: the answer follows from the covariances and the marginal distribution of the pixels. What it
# rests on is drawn by `plot()`, which every result has. The field on the right is the one that a neuron is going to
# learn.

# %%
pf.predict(x, y, edges.shape, inits=3, resamples=20).plot()

# %% [markdown]
# The same question about the Gaussian images:

# %%
x_smooth, y_smooth = smooth.sample(4000, generator=torch.Generator().manual_seed(0))
pf.predict(x_smooth, y_smooth, smooth.shape, inits=3, resamples=20)

# %% [markdown]
# ## 2. Try it: `Study`
#
# A study is the settings of a run and values to sweep over. Here a committee of 20 units is trained to tell the two
# classes apart, on either kind of images. The plan says what would be computed:

# %%
study = pf.Study(
    {
        "kind": "committee",
        "task": edges,
        "hidden": 20,
        "activation": "relu",
        "bias": False,
        "init_scale": 0.01,
        "lr": 3.0,
        "batch_size": 250,
        "steps": 700,
    },
    sweep={"task.g": [0.01, 100.0]},
)
study.plan("tour-store")

# %% [markdown]
# `run` computes what is not in the store yet, several runs at a time. Interrupt it whenever you like: the next call
# continues. The same cell a second time only reads.

# %%
results = study.run("tour-store")
results

# %% [markdown]
# `ipr` is the inverse participation ratio Σw⁴/(Σw²)² of the weights: 1 for a field that is one pixel, 0.03 for
# noise on 100 pixels. It grows where the images have edges.

# %%
results.plot(y=["loss", "ipr"])

# %% [markdown]
# ## 3. Look at the fields: `measure`
#
# `measure` takes a network, a state dict, a file or a matrix of weights, with or without data. Here are the units that
# were trained on images with edges:

# %%
gaussian, sharp = (results[run].records[-1].tensors["weights"][0].float() for run in study.runs)
pf.measure(sharp, shape=edges.shape, data=(x, y))

# %%
pf.measure(sharp, shape=edges.shape).plot()

# %% [markdown]
# And those that were trained on Gaussian images, which are spread over the whole picture:

# %%
pf.measure(gaussian, shape=smooth.shape).plot()

# %% [markdown]
# ## 4. Prune your own network: `prune`
#
# Any `nn.Module` will do. SynFlow needs no data; `density` is the share of weights that are kept, exactly. The mask is
# a value outside the network.

# %%
torch.manual_seed(0)
net = torch.nn.Sequential(
    torch.nn.Conv2d(3, 16, 3),
    torch.nn.ReLU(),
    torch.nn.Conv2d(16, 32, 3, stride=2),
    torch.nn.ReLU(),
    torch.nn.Flatten(),
    torch.nn.Linear(32 * 6 * 6, 10),
)
mask = pf.prune(net, "synflow", density=0.05, data=torch.ones(1, 3, 16, 16))
mask

# %%
mask.plot()

# %% [markdown]
# Instead of keeping the largest scores, a mask can be sampled with probabilities that follow them, here in each of the
# 100 iterations of SynFlow. How much do the two masks share, and what do they cost?

# %%
sampled = pf.prune(net, "synflow", density=0.05, data=torch.ones(1, 3, 16, 16), sample="every", seed=1)
print(f"of the weights that one mask keeps, the other keeps {(mask & sampled).density / mask.density:.0%}")
mask.apply_(net)  # sets the pruned weights to zero; mask.hold_(net, optimizer) keeps them there while you train
mask.summary(net, shape=(3, 16, 16))

# %% [markdown]
# ## 5. Check a paper: `reproduce`
#
# Every figure, table and theorem of three papers is an item with claims, and each claim has a null, data without the
# effect, on which the same check must fail. The runs of step 2 are those of this figure at smoke scale, so that they
# are read from the store.

# %%
found = pf.reproduce("lufkin2024/fig1", scale="smoke", store="tour-store")
found

# %%
found.plot()

# %% [markdown]
# ## Where to go
#
# `prunefield reproduce --report` does this for all items and writes a page with every claim, every figure and
# explorers of masks and fields. [The tutorial](tutorial.md) adds a score and a run of your own,
# [add a paper](howto/paper.md) an item;
# [prune](prune.md) and [measure](measure.md) have the details; [logging](logging.md) sends what runs record to
# TensorBoard or W&B.
