"""Carries out the moves of a round of scripts/soak beside its run, one after another, and notes each in chaos.jsonl."""

import json

from faults import *
import soak_launcher
from two_hosts import hosts

TOOL_SECONDS = 60
# Roles whose processes talk to each other; over a network, or with transport tcp, by TCP.
TALKS = {("worker", "shard"), ("worker", "replica"), ("worker", "aggregator"), ("aggregator", "shard"), ("shard", "replica")}
NOWHERE = "02:00:00:00:00:99"  # a hardware address that nobody has


class Moves:
    """`trained()` rises as long as the job goes on; `link` is of rounds with two hosts."""

    def __init__(self, run, moves, trained, link=None):
        self.run = run
        self.waiting = list(moves)
        self.trained = trained
        self.link = link
        self.before = 0
        self.went_on = None  # since when, after the move before
        self.acting = None  # a generator, which carries out a move
        self.problems = []

    def look(self):
        """To be called again and again."""
        if self.acting:
            if next(self.acting, "over") == "over":
                self.acting = None
                self.rest()
            return
        if not self.waiting or self.run.process.poll() is not None:
            return
        if self.went_on is None and self.has_gone_on(self.waiting[0]):
            self.went_on = time.monotonic()
        if self.went_on is not None and time.monotonic() - self.went_on >= self.waiting[0].after:
            move = self.waiting.pop(0)
            self.acting = getattr(self, move.kind)(move)

    def rest(self):
        """A move is over, and the next waits for the job to go on."""
        self.before, self.went_on = self.trained(), None

    def has_gone_on(self, move):
        """Returns true if the job trains since the move before, so that `move` may come."""
        return self.trained() > self.before

    def close(self):
        """Undoes what lasts."""
        self.acting = None  # its `finally` runs

    def note(self, kind, detail):
        now = time.time_ns()
        with open(self.run.run_dir / "chaos.jsonl", "a") as log:
            log.write(json.dumps({"unix_ns": now, "time": soak_launcher.stamp(now), "kind": kind, "detail": detail}) + "\n")

    def living(self, role):
        if role == "launcher":
            return [("launcher-0", self.run.process.pid)]
        return [(name_of(p), p["pid"]) for p in self.run.processes() if p["role"] == role and alive(p["pid"])]

    def pick(self, role, draw):
        found = sorted(self.living(role))
        return found[draw % len(found)] if found else None

    def strike(self, role, draw):
        """Kills whoever of that role lives; nobody may, for a moment."""
        if victim := self.pick(role, draw):
            self.note("kill", f"{victim[0]} pid {victim[1]} SIGKILL")
            os.kill(victim[1], signal.SIGKILL)

    def tool(self, *words):
        return subprocess.Popen([BIN / "tidegate", "chaos", self.run.run_dir, *words], stdout=subprocess.DEVNULL,
                                stderr=subprocess.PIPE, text=True)

    def kill(self, move):
        self.strike(move.role, move.draw)
        yield from ()

    def cut(self, move):
        pairs = self.pairs()
        random.Random(move.draw).shuffle(pairs)
        for pair in pairs:  # within a host most share memory, and have no connection
            tool = self.tool("cut", *pair)
            while tool.poll() is None:
                yield
            with tool.stderr:
                problem = tool.stderr.read()
            if tool.returncode == 0:
                return
            if "no TCP connection" not in problem and "lives" not in problem and "ended" not in problem:
                self.problems.append(f"tidegate chaos cut {' '.join(pair)}: {problem}")

    def pairs(self):
        listed = sorted((p["role"], name_of(p)) for p in self.run.processes() if alive(p["pid"]))
        return [(name, other) for role, name in listed for other_role, other in listed
                if (role, other_role) in TALKS or (role == "coordinator" and other_role != role)]

    def partition(self, move):
        tool = self.tool("partition", "b", "--for", f"{round(move.seconds * 1000)}ms")
        try:
            while tool.poll() is None:
                yield
        finally:
            if tool.poll() is None:
                tool.terminate()  # it heals what it has cut off
                tool.wait(TOOL_SECONDS)
            with tool.stderr:
                problem = tool.stderr.read()
        if tool.returncode != 0 and "ended" not in problem:
            self.problems.append(f"tidegate chaos partition: {problem}")

    def stall(self, move):
        victim = self.pick(move.role, move.draw)
        if not victim:
            return
        name, pid = victim
        life = started(pid)
        self.note("stall", f"{name} pid {pid} for {move.seconds} s")
        os.kill(pid, signal.SIGSTOP)
        try:
            yield from self.lasts(move, lambda: started(pid) == life)
        finally:
            if started(pid) == life:
                os.kill(pid, signal.SIGCONT)
                self.note("continue", f"{name} pid {pid}")

    def lasts(self, move, is_there):
        begin, kill = time.monotonic(), move.meanwhile
        while is_there() and (passed := time.monotonic() - begin) < move.seconds:
            if kill and passed >= move.seconds / 2:
                self.strike(kill, move.draw)
                kill = ""
            yield

    def silent_host(self, move):
        """Host b is gone at once: no frame of it arrives anywhere any more, not even the end of a connection."""
        self.note("silent_host", f"b for {move.seconds} s")
        for side, name in enumerate(self.link.names):
            hosts.ip("-n", name, "neighbour", "replace", self.link.address(1 - side), "lladdr", NOWHERE,
                     "dev", self.link.device(side), "nud", "permanent")
        network = os.stat(f"/run/netns/{self.link.names[1]}").st_ino
        gone = [(pid, started(pid)) for pid in (p["pid"] for p in self.run.processes()) if network_of(pid) == network]
        for pid, _ in gone:
            os.kill(pid, signal.SIGSTOP)
        try:
            yield from self.lasts(move, lambda: True)
        finally:
            for pid, life in gone:
                if started(pid) == life:
                    os.kill(pid, signal.SIGKILL)
            for side, name in enumerate(self.link.names):
                hosts.ip("-n", name, "neighbour", "delete", self.link.address(1 - side), "dev", self.link.device(side))
            self.note("host_back", "b")


def name_of(process):
    """As tidegate chaos calls it."""
    job = process.get("job")
    return f"{process['role']}-{job}-{process['index']}" if job else f"{process['role']}-{process['index']}"


def network_of(pid):
    """The inode of its network namespace; None: it has ended."""
    try:
        return os.stat(f"/proc/{pid}/ns/net").st_ino
    except OSError:
        return None
