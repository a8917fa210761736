"""From measurements to tables: Markdown for docs/measurements/exchange.md and for the screen, series for the plots."""

import math
import re
import statistics

import network

HEAD = """# Exchanges, round trips and two hosts

`scripts/bench` wrote this page; edit [document.py](../../tests/launch/bench/document.py) and not the page.
[measuring.md](../measuring.md) says how this is measured and what the words mean.
"""


def size_text(size):
    for unit, factor in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size >= factor and size % factor == 0:
            return f"{size // factor} {unit}"
    return f"{size} B"


def milliseconds(seconds):
    return f"{seconds * 1e3:.3f}" if seconds < 0.1 else f"{seconds * 1e3:.1f}"


def table(heading, rows):
    widths = [max(len(str(row[i])) for row in [heading, *rows]) for i in range(len(heading))]

    def line(cells):
        return "| " + " | ".join(str(cell).ljust(width) for cell, width in zip(cells, widths)) + " |"

    return "\n".join([line(heading), "|" + "|".join("-" * (width + 2) for width in widths) + "|",
                      *[line(row) for row in rows]]) + "\n"


def ours(size):
    return next((one for one in size["variants"] if one["system"] == "tidegate"), None)


def best(size, system):
    """A system's fastest variant; None when it did not run."""
    found = [one for one in size["variants"] if one["system"] == system]
    return min(found, key=lambda one: one["median"], default=None)


def peers(size):
    return sorted({one["system"] for one in size["variants"]} - {"tidegate"})


def best_peer(size):
    return min((best(size, peer) for peer in peers(size)), key=lambda one: one["median"], default=None)


def ceiling(size, like):
    return next((one for one in size["roofline"] if named(one) == named(like)), None)


def ceilings(size):
    return sorted((one for one in size["roofline"] if "sum" in one["operation"]),
                  key=lambda one: (one["operation"], one["threads"]))


def named(ceiling):
    fresh = "fresh, " if ceiling["operation"].startswith("fresh") else ""
    return f"{fresh}threads: {ceiling['threads']}"


def geometric_mean(values):
    return math.exp(statistics.fmean(math.log(value) for value in values)) if values else None


def times_table(configuration):
    rows = []
    for size in configuration["sizes"]:
        for one in size["variants"]:
            rows.append([size_text(size["bytes"]), one["system"], one["variant"], milliseconds(one["min"]),
                         milliseconds(one["median"]), milliseconds(one["max"]), f"{one['payload_gb_per_s']:.2f}",
                         f"{one['cpu_seconds_per_gb']:.3f}", one["verified"]])
        for one in ceilings(size):
            rows.append([size_text(size["bytes"]), "roofline", named(one), milliseconds(one["min"]),
                         milliseconds(one["median"]), milliseconds(one["max"]), f"{one['payload_gb_per_s']:.2f}",
                         "", ""])
    return table(["bytes", "system", "variant", "min ms", "median ms", "max ms", "payload GB/s", "CPU s/GB",
                  "verified"], rows)


def ratio_rows(configuration):
    """(bytes, ours / best peer, the peer, ours / roofline by threads): of payload rates, so more is better."""
    for size in configuration["sizes"]:
        own, peer = ours(size), best_peer(size)
        if own is None:
            continue
        to_peer = own["payload_gb_per_s"] / peer["payload_gb_per_s"] if peer else None
        to_roof = [own["payload_gb_per_s"] / one["payload_gb_per_s"] for one in ceilings(size)]
        yield size["bytes"], to_peer, f"{peer['system']}: {peer['variant']}" if peer else "none ran", to_roof


def ratios(configuration):
    found = list(ratio_rows(configuration))
    roofs = [named(one) for one in ceilings(configuration["sizes"][0])]
    rows = [[size_text(size), "-" if to_peer is None else f"{to_peer:.2f}", peer, *[f"{one:.2f}" for one in to_roof]]
            for size, to_peer, peer, to_roof in found]
    means = [geometric_mean([to_peer for _, to_peer, _, _ in found if to_peer is not None])]
    means += [geometric_mean([to_roof[i] for *_, to_roof in found if len(to_roof) > i]) for i in range(len(roofs))]
    shown = ["-" if mean is None else f"{mean:.2f}" for mean in means]
    rows.append(["geometric mean", shown[0], "", *shown[1:]])
    return table(["bytes", "ours / best peer", "best peer", *[f"ours / roofline, {roof}" for roof in roofs]], rows)


def failures(configuration):
    told = [f"- {size_text(size['bytes'])}, {name}: {why}" for size in configuration["sizes"]
            for name, why in {**{n: w for n, w in size["trials"].items() if isinstance(w, str)},
                              **size["failures"]}.items()]
    return ("Gave no result:\n\n" + "\n".join(told) + "\n") if told else ""


def name_of(configuration):
    def count(n, what):
        return f"{n} {what}" + ("" if n == 1 else "s")
    return f"{count(configuration['workers'], 'worker')}, {count(configuration['shards'], 'shard')}"


def plot(configuration, optimizer):
    """Input of `tidegate bench plot`."""
    sizes = configuration["sizes"]
    series = [{"name": "tidegate", "points": [[s["bytes"], ours(s)["median"]] for s in sizes if ours(s)]}]
    for peer in sorted({peer for size in sizes for peer in peers(size)}):
        series.append({"name": peer + " (best)",
                       "points": [[s["bytes"], best(s, peer)["median"]] for s in sizes if best(s, peer)]})
    for one in ceilings(sizes[0]):
        found = [(s["bytes"], ceiling(s, one)) for s in sizes]
        series.append({"name": f"roofline, {named(one)}",
                       "points": [[size, roof["median"]] for size, roof in found if roof]})
    return {"title": f"exchange time, {name_of(configuration)}, {optimizer}", "series": series}


def latency_section(latency):
    def line(name, seconds):
        return [name, *[f"{f(seconds) * 1e6:.1f}" for f in (min, statistics.median, max)]]
    rows = [line("tidegate bench latency, p50", latency["p50"]), line("tidegate bench latency, p99", latency["p99"])]
    if latency["ucx_round_trip"]:
        rows.append(line("ucx_perftest ucp_am_lat, p50 x 2", latency["ucx_round_trip"]))
    return ("## Round trip of 4 KiB\n\nOne worker and one shard on a core each: push, sum, optimizer, pull. "
            "`ucx_perftest` sends an active message there and back over the same transport "
            f"(`{latency['transport']}`) between the same cores, and does nothing with it.\n\n"
            + table(["us", "min", "median", "max"], rows))


def network_rows(name, found):
    """Rates beside ucx_perftest's, then round trips; `found` of network.measure."""
    def row(what, key, to, factor, digits):
        values = [value * factor for value in found[key]]
        if not values:
            return [name, what, "-", "-", "-", "-"]
        share = network.ratio(found, key, to)
        return [name, what, *[f"{f(values):.{digits}f}" for f in (min, statistics.median, max)],
                "-" if share is None else f"{share:.2f}"]
    rows = [row("ucx_perftest, one direction, GB/s", "ucx one way", "ucx one way", 1, 2),
            row("two ucx_perftest, each direction, GB/s", "ucx both ways", "ucx one way", 1, 2)]
    for way, told in (("sockets", "plain sockets"), ("ours", "tidegate"), ("sealed", "tidegate, encrypted"),
                      ("ucx", "tidegate over UCX")):
        for size in sorted(int(key.split()[1]) for key in found if re.fullmatch(way + r" \d+", key)):
            rows.append(row(f"{told}, {size_text(size)}, each direction, GB/s", f"{way} {size}", "ucx one way", 1, 2))
            rows.append(row(f"{told}, {size_text(size)}, CPU s/GB of gradient", f"{way} cpu {size}", f"ours cpu {size}", 1, 2))
    return rows + [row("ucx_perftest ucp_am_lat, 4 KiB, p50 x 2, us", "ucx round trip", "ucx round trip", 1e6, 1),
                   row("tidegate bench latency, 4 KiB, p50, us", "ours p50", "ucx round trip", 1e6, 1)]


def network_section(links):
    text = ("## Two hosts\n\nTwo network namespaces joined by a pair of virtual interfaces, TCP, with and without a "
            "limit of 10 Gbit/s in each direction. The worker is on one, the shard on the other, so that gradients go "
            "one way while parameters come the other; sums and steps (SGD) are included. `ucx_perftest -t ucp_am_bw "
            "-s 1048576` sends the same megabyte again and again in one direction on the same link in the same "
            "rounds; a second one sends against it for the row below. `plain sockets` are two programs that send each other as "
            "much over one connection and do nothing else. `ratio` is to the median of ucx_perftest, of CPU time to ours.\n\n")
    rows = []
    for name, found in links.items():
        rows += [[name, f"not measured: {found}", "", "", "", ""]] if isinstance(found, str) else \
            network_rows(name, found)
    return text + table(["link", "what", "min", "median", "max", "ratio"], rows)


def page(data):
    """All of docs/measurements/exchange.md."""
    settings = data["settings"]
    parts = [HEAD, "## Machine and settings\n",
             table(["what", "value"], [[k, v] for k, v in data["machine"].items()]),
             f"Rounds: {settings['rounds']}. Optimizer: {settings['optimizer']}. Transport of ours: "
             f"{settings['transport']}. Pinning: {settings['pin']}. Warm-up: 3 exchanges of each run, not counted.\n"]
    for configuration in data["configurations"]:
        picture = configuration.get("svg")
        parts += [f"## {name_of(configuration)}\n",
                  f"![exchange time against size]({picture})\n" if picture else "", times_table(configuration),
                  "Ratios of payload rates, so that more is better:\n", ratios(configuration), failures(configuration)]
    parts += [latency_section(data["latency"]), network_section(data["network"]), "## Commands\n",
              "As first started; BUILD is the build folder, DIR a temporary one; memory settings of all peers: "
              f"`{data['memory_settings']}`.\n", "\n".join(f"- {name}: `{command}`"
                                                           for name, command in sorted(data["commands"].items()))]
    return "\n".join(part for part in parts if part) + "\n"
