"""The JSON documents that commands print with `--json`: their version, and what each key means.

`docs/json.md` is made from this file: python -m prunefield.cli.documents > docs/json.md
"""

VERSION = 1  # raised when a key is removed or changes its meaning; a new key does not raise it

CLAIM = {
    "item": "the item, such as `redman2025/fig4`",
    "scale": "the scale of the runs: `smoke`, `laptop`, `night` or `paper`",
    "text": "the claim",
    "where": "its place in the paper",
    "expected": "what the paper says, or the criterion used instead",
    "decided_at": "the smallest scale that can decide it",
    "highlight": "whether the summary of `reproduce` shows it (not in published results)",
    "status": "`reproduced`, `not reproduced`, `corrected` or `not testable at this scale`",
    "observed": "what was found",
    "n": "the number of values behind it",
    "note": "what else there is to say",
    "null": "the verdict of the same check on data without the effect, with `status`, `observed`, `n` and `note`",
}
RUN = {
    "run": "its name: kind and hash of the settings",
    "kind": "its kind",
    "seed": "its seed, or null",
    "varies": "the settings that tell it from the others of its kind",
    "items": "the items that use it",
    "date": "when it was finished (UTC), or null",
    "bytes": "the size of its files",
}


def _rows(name: str, keys: dict[str, str]) -> dict[str, str]:
    return {f"{name}[].{key}": text for key, text in keys.items()}


DOCUMENTS: dict[str, dict[str, str]] = {
    "reproduce": {
        "scale": "the scale",
        "store": "the folder of results",
        "items": "one entry for each item",
        "items[].item": "its name",
        "items[].title": "its title",
        "items[].files": "the files written: CSV, SVG and PDF; none if the item is not finished",
        "items[].digest": "a hash of all its results: equal digests mean equal bits",
        "items[].published": "`same` or `differs` from the published results, `kept` if made of them alone, or null",
        "items[].runs": "the names of its runs",
        "items[].claims": "its claims, with the keys of `claims` below",
        "failures": "why a run or an item failed, by name",
        "report": "with `--report`: the page",
    },
    "reproduce, run or sweep with --dry-run": {
        "runs": "one entry for each run, in the order of execution",
        **_rows("runs", RUN),
        "runs[].state": "`stored` or `to do`",
        "runs[].seconds": "estimated seconds on one core",
        "runs[].learnt": "the number of measured runs behind the estimate",
        "runs[].settings": "all settings",
        "core_hours": "the estimated time of what is not stored",
    },
    "claims": {
        "claims": "one entry for each claim",
        **_rows("claims", CLAIM),
        "absent": "items that are not in the store, or not published",
        "problems": "why an item could not be read, by name",
        "items": "with `--published`: title, digest, versions, seconds and runs of each item",
    },
    "report": {
        "report": "the page",
        "missing": "the names of items that are not finished",
        "problems": "why a finished item could not be shown, by name",
    },
    "run or sweep": {
        "runs": "one entry for each finished run",
        "runs[].run": "its name",
        "runs[].digest": "a hash of its results",
        "runs[].settings": "all settings",
        "runs[].records": "the values of its records",
        "failures": "why a run failed, by name",
        "files": "of `sweep`: the table and the picture, if they could be written",
    },
    "cancel": {"cancelled": "one line for each job that was cancelled"},
    "runs list": {
        "runs": "one entry for each run; for more than 2,000 runs only the keys marked * unless `--long` is given",
        **_rows("runs", {**RUN, "run": RUN["run"] + " *", "date": RUN["date"] + " *"}),
        "runs[].status": "`done`, `running`, `stopped`, `failed` or `foreign` *",
        "runs[].progress": "the fraction done *",
        "runs[].seconds": "measured seconds, or null *",
    },
    "runs table": {"runs": "one entry for each run (or record): settings with dotted keys, then values"},
    "runs show": {
        "runs": "one entry for each run",
        "runs[].run": "its name",
        "runs[].status": "as in `runs list`",
        "runs[].settings": "all settings",
        "runs[].made": "versions, machine, device, seconds and time of completion",
        "runs[].done": "digest and checksums",
        "runs[].failure": "why it failed",
        "runs[].records": "the values of its records",
    },
    "runs verify": {
        "checked": "the number of runs",
        "damaged": "one entry for each problem",
        "damaged[].run": "the run",
        "damaged[].problem": "what is wrong",
        "damaged[].remedy": "what to do",
    },
    "runs remove": {"removed": "the names of removed runs"},
    "runs pack": {
        "pack": "the file written",
        "runs": "the names of the runs in it",
        "left_out": "the names of runs that are not finished",
        "bytes": "the size of the file",
        "sha256": "the checksum at its end, of all bytes before it",
    },
    "runs unpack or merge": {
        "store": "the store that the runs were taken into",
        "added": "the names of finished runs that are new there",
        "same": "those that it had already, with the same digest",
        "resumed": "unfinished runs whose safe point was taken because it was further",
        "behind": "unfinished runs whose safe point was not further",
        "different": "by name, the digests of two results of one run and where the other one is kept",
        "refused": "by name, why a run was not taken",
    },
    "list": dict.fromkeys(
        ("tasks", "networks", "scores", "runs", "engines", "loggers", "items"), "`{name: what it is}`"
    ),
    "data list": {
        "data": "one entry for each data set",
        "data[].data": "its name",
        "data[].what": "what it is",
        "data[].shape": "the shape of one input",
        "data[].classes": "the number of classes",
        "data[].state": "`here`, the command that fetches it, or where it comes from",
        "data[].licence": "its licence",
        "data[].bytes": "the size of what is fetched",
        "data[].folder": "where it is or will be",
        "data[].note": "what is unusual about its files",
    },
    "data get": {
        "data": "one entry for each data set",
        "data[].data": "its name",
        "data[].folder": "where it is",
        "data[].source": "where it was fetched",
        "data[].licence": "its licence",
        "data[].note": "what is unusual about its files",
    },
    "data verify": {
        "data": "one entry for each data set",
        "data[].data": "its name",
        "data[].folder": "where it is",
        "data[].problems": "what is wrong",
        "data[].note": "what is unusual about its files",
    },
    "data draw": {
        "file": "the file written",
        "task": "the settings of the task",
        "train": "the number of training examples",
        "test": "the number of held-out examples",
    },
    "measure": {
        "layer": "the name of the layer",
        "shape": "the shape of one input",
        "units": "the number of units",
        "density": "the share of kept weights",
        "measures": "one entry for each measure: its name, mean, median, least and greatest, and the number of units",
    },
    "predict": {
        "answer": "`yes`, `no` or `undecided`: will a neuron localise?",
        "leaning": "the answer that the whole sample gives",
        "certainty": "the share of the resamples that agree",
        "needed": "roughly how many examples would decide it",
        "examples": "the number of examples of each class",
        "properties": "the stimulus properties S1 to S3",
        "excess_kurtosis": "of an input, with its interval",
        "widths": "the widths of the fields, one for each initialisation",
        "widths_straight": "the same with a linear amplifier",
        "lengthscale": "the lengthscale of the data",
        "ipr_times_n": "the inverse participation ratios times the number of inputs",
        "peaks": "where the fields are",
        "steadiness": "how steady the fields are at the end",
        "notes": "what limits the answer",
    },
    "prune": {
        "mask": "the file written",
        "score": "the settings of the score",
        "density": "the share of kept weights",
        "weights": "the number of weights",
        "kept": "the number of kept weights",
        "parameters": "the number of parameters",
        "flops": "multiplications of the dense network for one input, where they can be counted",
        "kept_flops": "those of the pruned one",
        "layers": "one entry for each layer",
        "warnings": "emptied layers, constant outputs and parameters that the mask does not cover",
    },
}


def render_documents() -> str:
    """The page of the docs."""
    lines = [
        "# JSON documents",
        "",
        "<!-- made by python -m prunefield.cli.documents; do not edit -->",
        "",
        "With `--json` a command prints one JSON document on stdout and nothing else; progress and warnings go to",
        "stderr. Every document has the key `version`, which is raised when a key is removed or changes its meaning;",
        f"today it is {VERSION}. New keys may appear at any time. Numbers that are not finite are null.",
        "`name[].key` is a key of each entry of the list `name`.",
    ]
    for command, keys in DOCUMENTS.items():
        lines += ["", f"## {command}", "", "| key | meaning |", "|---|---|"]
        lines += [f"| `{key}` | {text} |" for key, text in keys.items()]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(render_documents(), end="")
