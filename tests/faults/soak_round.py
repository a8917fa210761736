"""Carries out a round of scripts/soak: a cluster, `tidegate chaos` beside it, and a look at what came of both."""

import contextlib

from faults import *
from two_hosts import hosts
import account
import rough_rounds
import silence
import soak_launcher
import soak_moves
import soak_scale

HANG_SECONDS = 30
LEFT_SECONDS = 5


class Runs:
    """Launches of one soak; ends what is left when it is closed."""

    hang_seconds = HANG_SECONDS
    left_seconds = LEFT_SECONDS

    def __init__(self, books, keep, silent_ms_max=None):
        self.books = books
        self.keep = keep  # a folder for the logs of what went wrong
        self.silent_ms_max = silent_ms_max  # None: it is told, and breaks nothing
        self.hashes = {}

    def start(self, yaml, runner=()):
        self.before = orphans()
        run = Launch(yaml, runner=runner)
        # The last of what a launcher needs to go on with a run.
        wait_until(lambda: (run.run_dir / "cluster.yaml").exists() or run.process.poll() is not None, 10, "a run folder")
        return run

    def chaos(self, run, arguments):
        return subprocess.Popen([BIN / "tidegate", "chaos", run.run_dir, "random", *arguments],
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def calm_hash(self, one):
        """Of the undisturbed run; each is made once."""
        if one.calm_key not in self.hashes:
            run = self.start(one.calm(WORKER))
            try:
                if self.wait(run) != 0:
                    raise RuntimeError("a run that nobody disturbed has failed:\n" + run.output)
                self.hashes[one.calm_key] = run.result()["jobs"][0]["parameters_sha256"]
            finally:
                run.close()
        return self.hashes[one.calm_key]

    def wait(self, run, beside=(), hang_seconds=None):
        """Its exit code; None: it made no progress for long, and was killed. `beside`: what looks again and again."""
        hang_seconds = hang_seconds or self.hang_seconds
        seen, since = None, time.monotonic()
        while True:
            for part in beside:
                part.look()
            try:
                return run.process.wait(timeout=0.05)
            except subprocess.TimeoutExpired:
                now = (progress(run), trained(run))
            if now != seen:
                seen, since = now, time.monotonic()
            if time.monotonic() - since > hang_seconds:
                return None

    def carry_out(self, one):
        """Returns what is worth a line on the terminal."""
        with self.network(one) as link:
            return self.carry_out_on(one, link)

    def network(self, drawn):
        """A context with the hosts of a round; None stands for this machine alone."""
        return hosts.TwoHosts() if rough_rounds.has_two_hosts(drawn.fault) else contextlib.nullcontext()

    def hosts_of(self, link):
        """The value of cluster.hosts."""
        return {name: {"address": link.address(side), "prefix": link.command(side, [])} for side, name in enumerate("ab")}

    def moves(self, run, drawn, link):
        return soak_moves.Moves(run, drawn.moves, lambda: trained(run), link)

    def left_on(self, link):
        """Lines about what hosts have left beside what left_behind() finds."""
        return []

    def carry_out_on(self, one, link):
        where = f"round {one.number}"
        expected = self.calm_hash(one) if one.kind == "workload" else None
        begin = time.time_ns()
        run = self.start(one.yaml(WORKER, link and self.hosts_of(link)), link.command(0, []) if link else ())
        chaos = self.chaos(run, one.chaos) if one.chaos else None
        moves = self.moves(run, one, link)
        try:
            beside = (soak_launcher.LauncherKills(run, one.launcher), soak_scale.Resizes(run, one.resizes), moves)
            longest = max((move.seconds for move in one.moves), default=0)
            code = self.wait(run, beside, self.hang_seconds + longest)
            end = time.time_ns()
            problems = self.look_at(run, one, code, expected)
            problems += self.end_chaos(chaos) if chaos else []
            moves.close()
            problems += [("failed_runs", problem) for problem in moves.problems]
            problems += self.account_for(run, one, where, begin, end)
            if run.process.poll() is None:
                run.process.kill()  # a hang; its children go with it
                run.process.wait()
            problems += [("leaks", what) for what in left_behind(run, self.before, self.left_seconds,
                                                                 lambda: self.left_on(link))]
            self.write_down(problems, where, run)
        finally:
            moves.close()
            for left in (chaos, run.process):
                if left and left.poll() is None:
                    left.kill()
                    left.wait()
            if chaos:
                chaos.stderr.close()
            lines = chaos_lines(run)
            run.close()
        kills, stops = account.hits(lines)
        faults, _ = account.faults(lines)
        done = [f"{sum(kills.values())} kills, {stops} stops"] + [f"{count} {kind}" for kind, count in faults.items()]
        done += [f"{len(moves.waiting)} moves left"] if moves.waiting else []
        return ", ".join(done) + "".join(f"; {f}: {w}" for f, w in problems)

    def account_for(self, run, one, where, begin, end):
        """Writes down what was done and how long it took; returns silences that were too long."""
        lines, events = chaos_lines(run), account.lines_of(run.events_text())
        pulls = pulls_made(run)
        if one.fault == "kill":
            self.books.add_hits(lines, events, pulls, one.shards)
        else:
            self.books.add_done(lines, events)
        self.books.rounds += 1
        if not pulls:  # of a program that does not write them down
            return []
        told, lasting = silence.told_by_events(run.events_text())
        for log in (run.run_dir / "logs").glob("*.log"):
            told += silence.told_by_log(log.read_text(errors="replace"))
        silent, after = silence.longest(begin, end, [served for _, served in pulls], told, lasting, silence.excused(lines))
        self.books.add_silence(where, one.fault, silent, after)
        if self.silent_ms_max is None or silent <= self.silent_ms_max:
            return []
        return [("silences", f"{silent} ms without progress or a word, from {after} ms after the launch")]

    def look_at(self, run, one, code, expected):
        if code is None:
            return [("hangs", f"no progress for {self.hang_seconds} s")]
        if code != 0:
            failure = run.output
            try:
                failure = run.result()["jobs"][0]["failure"] or failure
            except OSError:
                pass
            return [(account.judge_failure(failure), f"exit code {code}: {failure[-2000:]}")]
        job = run.result()["jobs"][0]
        found = []
        if expected and job["parameters_sha256"] != expected:
            found.append(("hash_mismatches", f"{job['parameters_sha256']} in place of {expected}"))
        if one.kind == "count":
            found += judge_pushes(job["metrics"].get("pushes"),
                                  account.pushes_of(job["changes"], one.job["workers"], one.clocks))
        if one.staleness is not None and job["staleness_max"] > one.staleness:
            found.append(("staleness_violations", f"{job['staleness_max']} above {one.staleness}"))
        return found

    def end_chaos(self, chaos):
        try:
            code = chaos.wait(timeout=HANG_SECONDS)
        except subprocess.TimeoutExpired:
            chaos.terminate()
            code = None if chaos.wait(timeout=HANG_SECONDS) == 0 else chaos.returncode
        return [] if code in (0, None) else [("failed_runs", f"tidegate chaos: {code}: {chaos.stderr.read()}")]

    def write_down(self, problems, where, run):
        logs = None
        if problems:
            logs = self.keep / where.replace(" ", "-")
            shutil.rmtree(logs, ignore_errors=True)
            shutil.copytree(run.folder, logs, ignore=shutil.ignore_patterns("*.sock"))
        for figure, what in problems:
            self.books.problem(figure, where, what, logs)


def judge_pushes(counted, made):
    if counted == made:
        return []
    figure = "failed_runs" if counted is None else "lost_pushes" if counted < made else "double_pushes"
    return [(figure, f"{counted} pushes counted of {made}")]


def chaos_lines(run):
    try:
        return account.lines_of((run.run_dir / "chaos.jsonl").read_text())
    except OSError:
        return []


def progress(run):
    """What changes as long as a job goes on: its clocks and its state. Deaths and restarts are none."""
    return re.findall(r"^(?:job|mlp)  .*", run.output, re.MULTILINE)[-1:]


def trained(run):
    """Rises with each pull of a worker."""
    return sum(path.stat().st_size for path in run.pulls.iterdir())


def pulls_made(run):
    """(begun, served) of all workers, as they have written it down."""
    text = "".join(path.read_text() for path in run.pulls.iterdir())
    whole = (line.split() for line in text.splitlines())
    return [(int(words[0]), int(words[1])) for words in whole if len(words) == 2]


def left_behind(run, before, seconds=LEFT_SECONDS, elsewhere=lambda: []):
    """Processes, segments that nobody holds, sockets, files: what is there a while after the end. `elsewhere` looks for more."""
    pids = [*run.started_pids()]
    ports = run.control_ports()

    def left():
        found = [f"process {pid}" for pid in pids if alive(pid)] + sorted(orphans() - before)
        return found + [f"port {port}" for port in ports if listening(port)] + elsewhere()

    deadline = time.monotonic() + seconds
    found = left()
    while found and time.monotonic() < deadline:
        time.sleep(0.05)
        found = left()
    return found + [f"file {path}" for path in run.temporary.iterdir()]
