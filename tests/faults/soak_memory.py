"""What survives a death must not grow by it: a cluster whose workers are killed again and again, and the memory,
descriptors and mappings of its shards and coordinator after few and after many kills."""

import account
import rounds
from faults import *
from soak_round import chaos_lines, left_behind

FEW = 20
# Memory after many kills may be above that after few by this. A link keeps its endpoint to a dead process, and with it
# the mappings of UCX's queues, of which some 12 KiB are resident, until it closes: 2 to 2.5 MiB in 180 kills. Anything of
# a worker's own would show: its gradient alone is 360 KB.
TOLERANCE_KIB = 4096
# Worker processes that are just coming or going have some of these.
TOLERANCE_FILES = 12
SETTLE_SECONDS = 60

JOB = {"workers": 3, "mode": ["forever", 0, 4000, "exchange"], "consistency": {"policy": "bsp"},
       "optimizer": {"name": "adam", "learning_rate": 0.05}}


def measure(pid):
    folder = pathlib.Path(f"/proc/{pid}")
    resident = next(line for line in (folder / "status").read_text().splitlines() if line.startswith("VmRSS"))
    return {"rss_kib": int(resident.split()[1]), "files": len(list((folder / "fd").iterdir())),
            "mappings": len((folder / "maps").read_text().splitlines())}


def survivors(run):
    return {f"{p['role']}-{p['index']}": p["pid"] for p in run.processes() if p["role"] in ("shard", "coordinator")}


def all_train(run, workers):
    """Every worker has made a clock: nobody is on the way any more."""
    def training():
        made = run.clocks_made()
        living = [p["pid"] for p in run.processes() if p["role"] == "worker" and alive(p["pid"])]
        return sum(made.get(pid, 0) > 0 for pid in living) == workers

    wait_until(training, SETTLE_SECONDS, f"a clock of {workers} workers")


def kill_some(runs, run, seed, count):
    chaos = runs.chaos(run, rounds.chaos_arguments(seed, ["worker"], count, every="10ms..60ms"))
    try:
        _, problem = chaos.communicate(timeout=600)
    finally:
        chaos.kill()  # where it was not waited for
    if chaos.returncode != 0:
        raise AssertionError(f"tidegate chaos: {problem}")
    all_train(run, JOB["workers"])
    return {name: measure(pid) for name, pid in survivors(run).items()}


def grown(few, many):
    limits = {"rss_kib": TOLERANCE_KIB, "files": TOLERANCE_FILES}  # mappings are told: they grow, see above
    return [f"{name}: {what} {few[name][what]} after {FEW} kills, {many[name][what]} at the end"
            for name in few for what, limit in limits.items() if many[name][what] > few[name][what] + limit]


def carry_out(runs, seed, kills):
    """FEW kills, a look, all the others, a look."""
    run = runs.start(rounds.cluster_text(JOB, {"shards": 2, "transport": "auto"}, WORKER))
    try:
        problems = kill_and_look(runs, run, seed, kills)
        problems += end(run)
        runs.books.add_hits(chaos_lines(run), account.lines_of(run.events_text()))
        problems += [("leaks", what) for what in left_behind(run, runs.before)]
        runs.write_down(problems, "memory", run)
    finally:
        run.close()
    return f"{kills} kills" + "".join(f"; {figure}: {what}" for figure, what in problems)


def kill_and_look(runs, run, seed, kills):
    try:
        all_train(run, JOB["workers"])
        few = kill_some(runs, run, seed, FEW)
        many = kill_some(runs, run, seed + 1, kills - FEW)
        runs.books.memory = {"kills": kills, "tolerance_kib": TOLERANCE_KIB, "after_20": few, "at_the_end": many}
    except (AssertionError, OSError, KeyError) as failed:
        return [("failed_runs", f"{failed}: {run.output[-2000:]}")]
    return [("memory_growths", what) for what in grown(few, many)]


def end(run):
    """By SIGINT: the job has no end of its own."""
    run.process.send_signal(signal.SIGINT)
    try:
        run.wait(30)
    except subprocess.TimeoutExpired:
        run.process.kill()
        run.process.wait()
        return [("hangs", "no end after SIGINT")]
    return []
