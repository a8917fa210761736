"""What we measure ourselves against that is no whole system: the roofline of this machine's memory, and
ucx_perftest on the same transport."""

import contextlib
import json
import random
import shutil

import processes

WAIT_SECONDS = 120
UCX_TRANSPORTS = {"auto": "posix,sysv,tcp,self", "shm": "posix,sysv,self", "tcp": "tcp,self"}


def roofline(tidegate, sizes, inputs, optimizer, threads):
    """{bytes: [ceiling, ...]} of `tidegate bench roofline`."""
    command = [str(tidegate), "bench", "roofline", "--bytes", ",".join(map(str, sizes)), "--inputs", str(inputs),
               "--optimizer", optimizer, "--threads", ",".join(map(str, threads)), "--rounds", "3", "--json", "-"]
    ended = processes.run([command], {}, WAIT_SECONDS)
    if not ended.ok:
        raise RuntimeError(f"{' '.join(command)}: {ended.why()}")
    found = {}
    for one in json.loads(ended.output)["ceilings"]:
        found.setdefault(one["bytes"], []).append(one)
    return found


def latency(tidegate, transport, pin):
    """Seconds: p50, p90, p99 of `tidegate bench latency`."""
    ended = processes.run([[str(tidegate), "bench", "latency", "--transport", transport, "--pin", pin,
                            "--json", "-"]], {}, WAIT_SECONDS)
    if not ended.ok:
        raise RuntimeError(f"tidegate bench latency: {ended.why()}")
    return json.loads(ended.output)["sizes"][0]


def perftest(test, size, iterations, transport, cpus, link=None, side=0):
    """The numbers of ucx_perftest's last line: [iterations, percentile, average, overall, ...]; microseconds and
    MB/s. `link`: a hosts.TwoHosts whose host `side` sends. None when it is not installed or failed."""
    if not shutil.which("ucx_perftest"):
        return None
    port = str(random.randrange(20000, 30000))
    environment = {"UCX_TLS": transport, "UCX_MM_ERROR_HANDLING": "y", "UCX_WARN_UNUSED_ENV_VARS": "n"}
    server = ["ucx_perftest", "-p", port, "-c", str(cpus[0])]
    to = link.address(1 - side) if link else "127.0.0.1"
    client = ["ucx_perftest", to, "-p", port, "-c", str(cpus[-1]), "-t", test, "-s", str(size),
              "-n", str(iterations), "-w", str(max(1, iterations // 10)), "-f"]
    # The client does not wait for its server.
    client = ["sh", "-c", 'sleep 0.5; exec "$@"', "sh", *client]
    if link:
        server, client = link.command(1 - side, server), link.command(side, client)
    ended = processes.run([client, server], environment, WAIT_SECONDS)
    for line in reversed(ended.output.splitlines()):
        with contextlib.suppress(ValueError):
            numbers = [float(word) for word in line.split()]
            if len(numbers) >= 6:
                return numbers
    return None


def socket_pair(program, size, rounds, link=None):
    """GB/s of each direction, and CPU seconds of both ends per GB of one, of two plain programs that send each other `size` bytes
    at once. None when it failed. `link`: as of perftest."""
    port = str(random.randrange(20000, 30000))
    rest = [str(size), str(rounds)]
    listener = [str(program), "listen", port, *rest]
    caller = [str(program), "call", link.address(1) if link else "127.0.0.1", port, *rest]
    if link:
        listener, caller = link.command(1, listener), link.command(0, caller)
    # The output of the first command alone is kept; both ends do the same, so twice the CPU time of one.
    ended = processes.run([caller, listener], {}, WAIT_SECONDS)
    if not ended.ok:
        return None
    found = json.loads(ended.output)
    payload = size * rounds / 1e9
    return payload / found["seconds"], 2 * found["cpu_seconds"] / payload


def ucx_round_trip(transport, cpus):
    """Seconds: the median there and back of 4 KiB active messages."""
    numbers = perftest("ucp_am_lat", 4096, 20000, UCX_TRANSPORTS[transport], cpus)
    return None if numbers is None else 2 * numbers[1] * 1e-6
