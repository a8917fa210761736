"""Carries out rounds of scripts/soak --hosts on network namespaces of one bridge (bridged_hosts.py), which need root."""

import contextlib
import json

from faults import *
from bridged_hosts import BridgedHosts
import account
import host_rounds
import soak_moves
import soak_round

# Agents that hear nothing of a launcher wait for supervision.unreachable.
LEFT_SECONDS = host_rounds.UNREACHABLE + 10
# A host is lost after supervision.unreachable, and a process that does not join is ended after cluster.start_timeout, 30 s.
HANG_SECONDS = 90
# Stands for an ssh client: where the host is dead it says so, or, if $gone is a pipe, waits until the host is back.
CLIENT = 'gone=$1; shift; if [ -e "$gone" ]; then cat "$gone"; exit 255; fi; "$@"; code=$?; ' \
         'if [ -e "$gone" ]; then cat "$gone"; fi; exit $code'


class MortalHosts(BridgedHosts):
    """Hosts that may die; the launcher runs on the first, and the others have agents."""

    def __init__(self, count):
        super().__init__(count)
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="tidegate-soak-hosts-"))
        self.pipes = {}  # of hosts that are dead and do not say so

    def __enter__(self):
        try:
            self.make()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for number in range(len(self.names)):
            with contextlib.suppress(OSError):
                self.kill_all(number)  # a run that has left something has been told of
        self.remove()
        shutil.rmtree(self.folder, ignore_errors=True)

    def agent_hosts(self):
        """(number, name) of each host but the launcher's."""
        return list(enumerate("bcdef"[:len(self.names) - 1], 1))

    def named(self):
        """The value of cluster.hosts."""
        agents = {name: {"address": self.address(number),
                         "prefix": ["sh", "-c", CLIENT, "host", str(self.gone(number)), *self.command(number)]}
                  for number, name in self.agent_hosts()}
        return {"a": {"address": self.address(0)}, **agents}

    def gone(self, number):
        return self.folder / f"gone-{number}"

    def processes(self, number):
        """The pids of all that runs on the host."""
        network = os.stat(f"/run/netns/{self.names[number]}").st_ino
        pids = [int(folder.name) for folder in pathlib.Path("/proc").glob("[0-9]*")]
        return [pid for pid in pids if soak_moves.network_of(pid) == network]

    def clients(self):
        """The pids of what has started agents."""
        found = []
        for folder in pathlib.Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if os.fsencode(self.folder) in (folder / "cmdline").read_bytes():
                    found.append(int(folder.name))
        return found

    def die(self, number, quiet):
        """Nothing can be started on the host any more, and nothing is heard of it."""
        if quiet:
            os.mkfifo(self.gone(number))
            # With a writer its readers wait, and the writer does not wait for them.
            self.pipes[number] = os.open(self.gone(number), os.O_RDWR)
        else:
            self.gone(number).touch()
        self.cut(number)
        return self.kill_all(number)

    def kill_all(self, number):
        """Returns the number of processes that are killed."""
        victims = self.processes(number)
        for pid in victims:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return len(victims)

    def come_back(self, number):
        self.gone(number).unlink(missing_ok=True)
        if number in self.pipes:
            os.close(self.pipes.pop(number))  # clients of this host hear of their end
        self.join(number)


class HostMoves(soak_moves.Moves):
    """Moves of a HostRound; `link` is the MortalHosts that its run is on."""

    def __init__(self, run, drawn, trained, link):
        super().__init__(run, drawn.moves, trained, link)
        self.drawn = drawn
        self.since = 0  # unix nanoseconds of the end of the move before

    def rest(self):
        super().rest()
        self.since = time.time_ns()

    def has_gone_on(self, move):
        return self.all_train() and (not move.settled or self.is_in_sync())

    def all_train(self):
        """Returns true if every worker has begun a pull since the move before."""
        living = [pid for _, pid in self.living("worker")]
        return len(living) == self.drawn.job["workers"] and all(self.last_pull(pid) > self.since for pid in living)

    def last_pull(self, pid):
        """When it began; 0 if there has not been any."""
        try:
            text = (self.run.pulls / str(pid)).read_text()
        except OSError:
            return 0
        lines = text[:text.rfind("\n") + 1].splitlines()
        return int(lines[-1].split()[0]) if lines else 0

    def is_in_sync(self):
        return not account.shards_out_of_sync(account.lines_of(self.run.events_text()), self.drawn.shards)

    def agent(self, host):
        """The pid of the agent of the host; None if it has ended."""
        try:
            mark = json.loads((self.run.run_dir / f"agents/{host}.json").read_text())
        except (OSError, ValueError):
            return None
        return mark["pid"] if started(mark["pid"]) == mark["started"] else None

    def victim(self, move):
        """Waits for a host that has an agent, and chooses among those where more than the agent runs, if there are any;
        (number, name, pid of the agent)."""
        while True:
            found = [(number, name, pid) for number, name in self.link.agent_hosts() if (pid := self.agent(name))]
            busy = [host for host in found if len(self.link.processes(host[0])) > 1]
            if found:
                return (busy or found)[move.draw % len(busy or found)]
            yield

    def agent_kill(self, move):
        _, name, pid = yield from self.victim(move)
        self.note("agent_kill", f"{name} pid {pid} SIGKILL")
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)

    def host_cut(self, move):
        number, name, _ = yield from self.victim(move)
        self.note("host_cut", f"{name} for {move.seconds} s")
        self.link.cut(number)
        try:
            yield from self.lasts(move, lambda: True)
        finally:
            self.link.join(number)
            self.note("host_joined", name)

    def host_kill(self, move):
        number, name, _ = yield from self.victim(move)
        try:
            killed = self.link.die(number, move.quiet)
            self.note("host_kill", f"{name} for {move.seconds} s, {killed} processes")
            for _ in self.lasts(move, lambda: True):
                self.link.kill_all(number)  # clients that had just begun to start an agent
                yield
        finally:
            self.link.come_back(number)
            self.note("host_joined", name)


class HostRuns(soak_round.Runs):
    """Rounds of host_rounds.py."""

    hang_seconds = HANG_SECONDS
    left_seconds = LEFT_SECONDS

    def network(self, drawn):
        return MortalHosts(drawn.hosts)

    def hosts_of(self, link):
        return link.named()

    def moves(self, run, drawn, link):
        return HostMoves(run, drawn, lambda: soak_round.trained(run), link)

    def left_on(self, link):
        """Nothing runs on any host after the end of a run, and nothing waits for it."""
        found = [f"{process_text(pid)} on host {name}" for number, name in [(0, "a"), *link.agent_hosts()]
                 for pid in link.processes(number)]
        return found + [f"{process_text(pid)}, which starts agents" for pid in link.clients()]


def process_text(pid):
    try:
        words = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        words = []
    return f"process {pid} ({b' '.join(words[:4]).decode(errors='replace').strip()})"
