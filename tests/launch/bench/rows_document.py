"""From measurements of rows to tables: Markdown for docs/measurements/rows_peers.md and for the screen."""

import statistics

import rows_systems
from document import table

HEAD = """# Rows beside Redis and torch

`scripts/bench rows` wrote this page; edit [rows_document.py](../../tests/launch/bench/rows_document.py) and not the page.
[measuring.md](../measuring.md#rows-of-sparse-tables) says how this is measured, and [rows.md](rows.md) what limits ours.
"""

SYSTEMS = """## What each of them does

Every worker pulls a batch of distinct ids, and pushes a gradient of ones for each. All draw the same batches, and step with
AdaGrad. A row counts once when it is pulled and pushed. Some 1,000 rows are compared with a reference after every eight
clocks; a run in which one is wrong does not count.

- **Ours** is `tidegate bench rows` under BSP: servers add the gradients of a clock, and step. Without TCP workers read rows
  where the shard keeps them.
- **Redis** cannot step. Values and AdaGrad's state are one string, which goes to the worker (`MGET`), is stepped there by
  numpy, and goes back (`MSET`): twice the bytes of ours each way. Workers do not wait for each other, and a push
  that meets another's is lost. There is one server without persistence, and commands are sent in a row.
- **torch** is `nn.EmbeddingBag(sparse=True)` in DistributedDataParallel over gloo, with `optim.Adagrad`. Every process has
  the whole table with its state, and steps the rows of all workers. There is no server, and rows have numbers in place of ids.

A figure of CPU counts all threads of the processes. Ours and Redis have servers; of torch there are only workers.
"""


def millions(rows):
    return "-" if rows is None else f"{rows / 1e6:.3f}"


def name_of(distribution):
    return f"Zipf {distribution['zipf']}" if distribution["zipf"] else "Uniform"


def rates_table(distribution):
    rows = [[found["system"], found["variant"], *(millions(found[key]) for key in (
        "min", "median", "max", "rows_per_servers_cpu_second", "rows_per_cpu_second")), found["verified"]]
        for found in distribution["systems"]]
    return table(["system", "variant", "min M rows/s", "median M rows/s", "max M rows/s", "M rows per CPU s of servers",
                  "of all processes", "verified"], rows)


def ratios_of(ours, theirs):
    """Round by round: what else the machine did then slowed both."""
    return [rate / theirs["rounds"][number] for number, rate in ours["rounds"].items() if number in theirs["rounds"]]


def ratio_text(ratios):
    return f"{statistics.median(ratios):.1f} ({min(ratios):.1f} to {max(ratios):.1f})" if ratios else "-"


def over(mine, theirs, key):
    return f"{mine[key] / theirs[key]:.1f}" if mine[key] and theirs[key] else "-"


def ratios_table(distribution):
    """Ours over each peer's; more is better for ours."""
    ours = {found["system"]: found for found in distribution["systems"] if found["system"] in rows_systems.OURS}
    rows = []
    for theirs in distribution["systems"]:
        if theirs["system"] in ours:
            continue
        for mine in ours.values():
            rows.append([mine["system"], theirs["system"], ratio_text(ratios_of(mine, theirs)),
                         over(mine, theirs, "rows_per_servers_cpu_second"), over(mine, theirs, "rows_per_cpu_second")])
    return table(["ours", "theirs", "ratio of rates (min to max)", "per CPU s of servers", "of all processes"], rows) \
        if rows else "No peer was measured.\n"


def lost_text(distribution):
    return "".join(f"{found['system']}: {found['lost'] * 100:.1f} % of the pushes to compared rows were lost.\n"
                   for found in distribution["systems"] if found["lost"] is not None)


def failures_text(failures):
    lines = [f"- {name}: {reason}" for name, reason in failures.items()]
    return "Gave no result:\n\n" + "\n".join(lines) + "\n" if lines else ""


def section(distribution):
    return "\n".join(part for part in (
        f"## {name_of(distribution)}\n", rates_table(distribution),
        "Rates of ours over theirs, each round by itself: the median, and the least and the largest.\n",
        ratios_table(distribution), lost_text(distribution), failures_text(distribution["failures"])) if part)


def trials_text(trials):
    rows = [[name, millions(rate)] for name, rate in trials.items() if not isinstance(rate, str)]
    failed = {name: reason for name, reason in trials.items() if isinstance(reason, str)}
    return "\n".join(part for part in (
        "## Variants of peers\n", "Each was tried once before the rounds, and the fastest of each system took part.\n",
        table(["variant", "M rows/s"], rows), failures_text(failed)) if part) if trials else ""


def versions_of(data):
    found = {}
    for distribution in data["distributions"]:
        for system in distribution["systems"]:
            found.update(system["versions"])
    return ", ".join(f"{name} {version}" for name, version in sorted(found.items()))


def settings_text(data):
    settings, work = data["settings"], data["settings"]["work"]
    return (f"{work['workers']} workers, 1 server, {work['rows']:,} rows of {work['dim']} float32 values, {work['batch']:,} "
            f"ids a batch before those drawn twice are left out. Rounds in turn: {settings['rounds']}. In each a system is "
            f"started anew, fills its table, and makes eight clocks {work['repeat']} times after a warm-up of "
            f"{work['warmup']}; the median counts. Pinning: {settings['pin']}, servers and then workers to the cores in "
            "turn.\n")


def page(data):
    """All of docs/measurements/rows_peers.md."""
    machine = {**data["machine"], "Python packages": versions_of(data)}
    left_out = [f"Left out: {name}: {reason}.\n" for name, reason in data["left_out"].items()]
    parts = [HEAD, "## Machine and settings\n", table(["what", "value"], machine.items()), settings_text(data), *left_out,
             SYSTEMS, *map(section, data["distributions"]), trials_text(data["trials"]), "## Commands\n",
             "As first started; BUILD is the build folder, PEERS is tests/launch/bench/peers, DIR a temporary folder.\n",
             "\n".join(f"- {name}: `{command}`" for name, command in data["commands"].items())]
    return "\n".join(part for part in parts if part) + "\n"
