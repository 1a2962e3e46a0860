"""Kurtosis of any layer of a small pruning run."""

import pytest
import torch

from prunefield.core.errors import UsageError
from prunefield.core.seeds import generator
from prunefield.measures.kurtosis import correct_kurtosis, kurtosis, kurtosis_per_class
from prunefield.runs import Result, Run, State
from prunefield.runs.imp import Imp, read_masks
from prunefield.runs.kurtosis import Kurtosis
from prunefield.tasks import draw_balanced
from prunefield.tasks.leaves import Leaves

TASK = Leaves(side=8, count=8, largest=4, categories=3)
SMALL = {"task": TASK, "hidden": (12, 10), "steps": 40, "rewind": 7, "rounds": 2, "held_out": 60, "batch_size": 10}


@pytest.mark.parametrize("batch_norm", [False, True])
@pytest.mark.parametrize("statistics", ["masked", "dense"])
def test_the_second_layer_is_that_of_the_masked_net(statistics, batch_norm):
    imp = Imp(batch_norm=batch_norm, **SMALL)
    records = [record for record in imp(State()) if record is not None]
    run = Kurtosis(of=imp, per_class=20, layer=1, statistics=statistics)
    found = list(run(State(read=lambda _: Result(records))))[2]
    tensors = {k.removeprefix("rewind:"): t for k, t in records[0].tensors.items() if k.startswith("rewind:")}
    net = imp.build()
    net.load_state_dict(tensors)
    read_masks(imp, records, "imp")[2].apply_(net)
    net.eval()
    batch = draw_balanced(TASK, 20, generator=generator(0, "kurtosis"))
    seen = {}
    net.layers[1].register_forward_hook(lambda layer, inputs, output: seen.update(input=inputs[0], output=output))
    with torch.no_grad():
        net(batch.x)
        values = seen["output"]
        if batch_norm and statistics == "masked":
            active = torch.relu(net.layers[0](net.norms[0](batch.x)))
            normal = (active - active.mean(0)) / (active.var(0, correction=0) + 1e-10).sqrt()
            values = (normal * tensors["norms.1.weight"] + tensors["norms.1.bias"]) @ net.layers[1].weight.T
    within = kurtosis_per_class(values, batch.y, 3)
    assert found["pooled"] == pytest.approx(kurtosis(values).nanmean().item(), rel=1e-4)
    assert found["within"] == pytest.approx(within.nanmean().item(), rel=1e-4)
    assert found["within_corrected"] == pytest.approx(correct_kurtosis(within, 20).nanmean().item(), rel=1e-4)
    assert found["bare_within"] == int(within.isnan().sum())


@pytest.mark.parametrize("layer", [0, 1])
def test_at_step_0_batch_norm_takes_the_moments_of_the_images(layer):
    """It has seen nothing yet, so that pixels of any scale must give the same."""
    imp = Imp(batch_norm=True, **SMALL | {"rewind": 0})
    records = [record for record in imp(State()) if record is not None]
    masks = read_masks(imp, records, "imp")[1]
    x = draw_balanced(TASK, 20, generator=generator(0, "kurtosis")).x
    scales = torch.linspace(0.5, 3, x.shape[1])
    plain, scaled = (Kurtosis(of=imp, layer=layer)._forward(records[0].tensors, masks, x * by) for by in (1.0, scales))
    assert torch.allclose(plain - plain.mean(0), scaled - scaled.mean(0), atol=1e-4)
    assert plain.std() > 0.1


def test_a_layer_that_is_not_there_is_told():
    table = {"kind": "kurtosis", "of": {"kind": "imp", "hidden": [8]}, "layer": 1}
    with pytest.raises(UsageError, match=r"layer must be below 1, the number of hidden layers \(got 1\)"):
        Run.parse(table)
