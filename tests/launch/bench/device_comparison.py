"""What scripts/bench_device has measured, as rows: one for each way to sum gradients and step. Their times are compared
with those of Tidegate's kernel for the same optimizer and as many gradients.

A part is what a program measured, in several rounds: "tidegate" is the JSON of `tidegate bench device`, "exchange" has
the steps of `tidegate bench exchange --device`, "torch" and "nccl" are those of peers/torch_step.py. A part that is
missing leaves its rows out.
"""

import statistics

import document


def steps_by(rounds, key):
    """The steps of all rounds by what `key` says of them, in the order of the first round."""
    found = {}
    for result in rounds:
        for step in result["steps"]:
            found.setdefault(key(step), []).append(step)
    return found


def row_of(way, steps, shares=()):
    """A row from the same step of several rounds."""
    medians = [statistics.median(step["seconds"]) for step in steps]
    return {"optimizer": steps[0]["optimizer"], "inputs": steps[0]["inputs"], "way": way,
            "seconds": statistics.median(medians), "seconds_min": min(medians), "seconds_max": max(medians),
            "share": statistics.median(shares) if shares else None}


def tidegate_rows(rounds):
    rows = []
    for (path, optimizer, inputs, chunk), steps in steps_by(
            rounds, lambda s: (s["path"], s["optimizer"], s["inputs"], s["chunk_bytes"])).items():
        way = f"Tidegate, {path}" + (f", chunks of {document.size_text(chunk)}" if chunk else "")
        rows.append(row_of(way, steps, [step["share"] for step in steps]))
    return rows


def torch_rows(rounds, moved):
    """The better of the ways to sum. Its share is that of the bytes which the step has to move, `moved` by optimizer
    and inputs in arrays, of a copy beside it."""
    found = {}
    for (optimizer, inputs, variant), steps in steps_by(
            rounds, lambda s: (s["optimizer"], s["inputs"], s["variant"])).items():
        arrays = moved.get((optimizer, inputs))
        shares = [arrays / 2 * statistics.median(step["copy_seconds"]) / statistics.median(step["seconds"])
                  for step in steps] if arrays else []
        row = row_of(f"torch, fused, {variant}", steps, shares)
        best = found.get((optimizer, inputs))
        if best is None or row["seconds"] < best["seconds"]:
            found[optimizer, inputs] = row
    return list(found.values())


def worker_rows(rounds, way):
    return [row_of(f"{way}: {inputs}" + (", on one GPU by TCP" if steps[0].get("shared") else ""), steps)
            for (_, inputs), steps in steps_by(rounds, lambda s: (s["optimizer"], s["inputs"])).items()]


def rows_of(parts):
    """All rows, those that are compared with each other together. `parts`: the rounds of each part by its name."""
    ours = tidegate_rows(parts.get("tidegate", []))
    kernels = {(step["optimizer"], step["inputs"]): step["bytes_moved"] / result["bytes"]
               for result in parts.get("tidegate", [])[:1] for step in result["steps"] if step["path"] == "kernel"}
    rows = [*ours, *worker_rows(parts.get("exchange", []), "Tidegate, exchange, workers"),
            *torch_rows(parts.get("torch", []), kernels),
            *worker_rows(parts.get("nccl", []), "NCCL all-reduce, ranks")]
    yardsticks = {(row["optimizer"], row["inputs"]): row["seconds"] for row in ours if row["way"] == "Tidegate, kernel"}
    groups = {}
    for row in rows:
        key = row["optimizer"], row["inputs"]
        row["ratio"] = row["seconds"] / yardsticks[key] if key in yardsticks else None
        groups.setdefault(key, []).append(row)
    return [row for group in groups.values() for row in group]


def figure(value):
    return "-" if value is None else f"{value:.2f}"


def markdown(rows):
    heading = ["optimizer", "gradients", "way", "median, ms", "min", "max", "time / kernel's", "share of a copy"]
    return document.table(heading, [[row["optimizer"], row["inputs"], row["way"],
                                     document.milliseconds(row["seconds"]), document.milliseconds(row["seconds_min"]),
                                     document.milliseconds(row["seconds_max"]), figure(row["ratio"]),
                                     figure(row["share"])] for row in rows])
