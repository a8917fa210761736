"""Ours between two hosts beside ucx_perftest on the same link, in turn, round by round. Workers on one host, shards
on the other: gradients and parameters cross it in opposite directions at once."""

import json
import os
import statistics
import threading

import hosts
import processes
import yardsticks

SIZES = [16 << 20, 64 << 20]
PERFTEST_BYTES = 1 << 20
PERFTEST_MESSAGES = 800
ROUND_TRIPS = 4000
WAIT_SECONDS = 180


def one_way(link, cpus, side, messages=PERFTEST_MESSAGES):
    """GB/s of active messages from one host; None when there is no result."""
    numbers = yardsticks.perftest("ucp_am_bw", PERFTEST_BYTES, messages, "tcp,self", cpus, link, side)
    return numbers and numbers[5] * (1 << 20) / 1e9  # its MB are of 2^20 bytes


def both_ways(link, cpus):
    """GB/s of each of two ucx_perftest that send in opposite directions at the same time."""
    found = {}
    # Each has a core for its sender, which is the other's for its receiver.
    runs = [threading.Thread(target=lambda s=side, c=order: found.update({s: one_way(link, c, s)}))
            for side, order in ((0, cpus), (1, cpus[::-1]))]
    for run in runs:
        run.start()
    for run in runs:
        run.join()
    return None if None in found.values() else min(found.values())


def ours(tidegate, link, *words):
    """The JSON of a `tidegate bench` of one worker and one shard over the link."""
    there = f"{link.address(0)},{link.address(1)} {' '.join(link.command(1, []))}"
    command = link.command(0, [str(tidegate), "bench", *words, "--hosts", there, "--json", "-"])
    ended = processes.run([command], {}, WAIT_SECONDS)
    if not ended.ok:
        raise RuntimeError(f"{' '.join(command)}: {ended.why()}")
    return json.loads(ended.output)["sizes"]


# Ours over streams, over streams that are sealed, and over UCX.
WAYS = {"ours": (), "sealed": ("--encrypt", "true"), "ucx": ("--transport", "ucx")}


def exchanges(tidegate, link, way, sizes):
    """{"WAY SIZE": GB/s each way, "WAY cpu SIZE": CPU seconds a GB of gradient}."""
    found = {}
    listed = ",".join(map(str, sizes))
    for size in ours(tidegate, link, "exchange", "--workers", "1", "--bytes", listed, *WAYS[way]):
        found[f"{way} {size['bytes']}"] = size["bytes"] / size["median_seconds"] / 1e9
        found[f"{way} cpu {size['bytes']}"] = size["cpu_seconds_per_gb"]
    return found


def round_of(tidegate, link, cpus, number, sizes):
    found = {"ucx one way": one_way(link, cpus, number % 2), "ucx both ways": both_ways(link, cpus)}
    program = tidegate.parent.parent / "tests/bench_socket_pair"
    for size in sizes:
        plain = yardsticks.socket_pair(program, size, max(4, (1 << 30) // size), link)
        found[f"sockets {size}"], found[f"sockets cpu {size}"] = plain or (None, None)
    for way in WAYS:
        found |= exchanges(tidegate, link, way, sizes)
    found["ours p50"] = ours(tidegate, link, "latency")[0]["p50_seconds"]
    numbers = yardsticks.perftest("ucp_am_lat", 4096, ROUND_TRIPS, "tcp,self", cpus, link)
    found["ucx round trip"] = numbers and 2 * numbers[1] * 1e-6
    return found


def measure(tidegate, rounds, rate, sizes=tuple(SIZES)):
    """{what: one value a round}, GB/s and seconds; why not, when the hosts cannot be made."""
    cpus = sorted(os.sched_getaffinity(0))
    try:
        with hosts.TwoHosts(rate) as link:
            found = [round_of(tidegate, link, cpus, number, sizes) for number in range(rounds)]
    except (hosts.NotHere, OSError, RuntimeError) as why:
        return str(why)
    return {what: [one[what] for one in found if one[what] is not None] for what in found[0]}


def ratio(found, what, to):
    """Of medians; None without either."""
    return statistics.median(found[what]) / statistics.median(found[to]) if found[what] and found[to] else None
