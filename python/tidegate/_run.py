"""A run as a notebook looks at it: its metrics and events as columns, and pictures of them."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Iterator, Optional, Union

from ._program import path_of_program
from .errors import NotFoundError, UnavailableError

_OF_JOB = ("clock_slowest", "clock_fastest", "samples", "loss", "restarts", "seconds", "clocks_per_second",
           "samples_per_second")
_OF_WORKER = ("incarnation", "clock", "clocks_per_second", "samples_per_second", "computes", "calls", "waits",
              "credits", "garbage", "comes_last", "late_seconds", "stopped", "starved", "disk_faults", "memory")
_OF_SHARD = ("seconds", "answers_last", "late_seconds", "waits", "busy", "replica", "bytes_in_per_second",
             "bytes_out_per_second", "resident_bytes", "pushes_held", "stopped", "starved", "disk_faults",
             "memory")
_OF_REPLICA = ("seconds", "busy", "bytes_in_per_second", "resident_bytes", "stopped", "starved", "disk_faults", "memory")
_OF_CLOCK = ("incarnation", "began_ns", "pushed_ns", "ended_ns", "computes_seconds", "calls_seconds", "waits_seconds",
             "gate_seconds", "gate_rank", "shard_seconds", "network_seconds", "credit_seconds", "replica_seconds", "pushed_bytes",
             "staleness", "late_seconds", "last_shard", "shard_late_seconds")
_OF_EVENT = ("process", "job", "rank", "clock", "cause")
_VERSION = 1


class Run:
    """A run folder, of a run that goes on or has ended.

    What it returns as columns is a dict of lists of one length: ``pandas.DataFrame(run.workers())`` is a table. Nothing
    is kept between calls, so that of a run that goes on each call has what is there by then. Pictures need matplotlib.
    Raises NotFoundError if the folder is not of a run.
    """

    def __init__(self, folder: Union[str, "os.PathLike[str]"]) -> None:
        self.folder = Path(folder)
        if not (self.folder / "cluster.yaml").is_file():
            raise NotFoundError(f"{self.folder} is no run folder: it has no cluster.yaml")

    def __repr__(self) -> str:
        return f"Run({os.fspath(self.folder)!r})"

    def status(self) -> "dict[str, Any]":
        """Returns what ``tidegate status --json`` says. Raises UnavailableError if neither a launcher lives nor a result is there."""
        return self._ask("status")[0]

    def why(self, last: Optional[int] = None) -> "list[dict[str, Any]]":
        """Returns which workers each job waits for, and why, as ``tidegate why --json`` says it; `last`: of so many clocks.

        Raises UnavailableError if there are no metrics yet.
        """
        return self._ask("why", *([] if last is None else ["--last", str(last)]))

    def jobs(self) -> "dict[str, list[Any]]":
        """Returns columns with a row for each job and second: ``time``, ``job``, and what metrics.jsonl has of the job."""
        names = ("time", "job", *_OF_JOB)
        return _columns(names, ((_time(line), line["job"], *(line.get(name) for name in _OF_JOB)) for line in self._metrics()))

    def workers(self) -> "dict[str, list[Any]]":
        """Returns columns with a row for each job, second and worker: ``time``, ``job``, ``rank``, and what metrics.jsonl
        has of the worker."""
        names = ("time", "job", "rank", *_OF_WORKER)
        return _columns(names, ((_time(line), line["job"], worker["rank"], *(worker.get(name) for name in _OF_WORKER))
                                for line in self._metrics() for worker in line["workers"]))

    def shards(self) -> "dict[str, list[Any]]":
        """Returns columns with a row for each job, second and shard: ``time``, ``job``, ``shard``, and what metrics.jsonl has
        of the shard. Lines of before Tidegate noted that have none."""
        names = ("time", "job", "shard", *_OF_SHARD)
        return _columns(names, ((_time(line), line["job"], shard["shard"], *(shard.get(name) for name in _OF_SHARD))
                                for line in self._metrics() for shard in line.get("shards", ())))

    def replicas(self) -> "dict[str, list[Any]]":
        """Returns columns with a row for each job, second and replica: ``time``, ``job``, ``shard``, ``process``, and what
        metrics.jsonl has of the replica."""
        names = ("time", "job", "shard", "process", *_OF_REPLICA)
        return _columns(names, ((_time(line), line["job"], replica["shard"], replica["process"],
                                 *(replica.get(name) for name in _OF_REPLICA))
                                for line in self._metrics() for replica in line.get("replicas", ())))

    def clocks(self, first: Optional[int] = None, last: Optional[int] = None) -> "dict[str, list[Any]]":
        """Returns columns with a row for each clock and worker, of clocks that the processes still remember: all, `first` alone,
        or those to `last`, that included; what ``tidegate clocks --json`` says. Of a run that goes on it waits for `last`.

        Raises UnavailableError if nothing is known of them, as of most runs that have ended.
        """
        if first is None and last is not None:
            first = 0
        wanted = [] if first is None else ["--clocks", f"{first}..{first if last is None else last}"]
        names = ("job", "clock", "rank", *_OF_CLOCK)
        return _columns(names, ((line["job"], line["clock"], worker["rank"], *(worker.get(name) for name in _OF_CLOCK))
                                for line in self._ask("clocks", *wanted) for worker in line["workers"]))

    def events(self) -> "dict[str, list[Any]]":
        """Returns columns with a row for each event: ``time``, ``kind``, ``detail``, and ``process``, ``job``, ``rank``, ``clock``
        and ``cause``, which are None where an event is not about that."""
        return _columns(("time", "kind", "detail", *_OF_EVENT),
                        ((_time(line), _kind(line), line["detail"], *(line.get(name) for name in _OF_EVENT))
                         for line in _lines(self.folder / "events.jsonl")))

    def log(self, process: str) -> str:
        """Returns what a process has written, as ``worker-mlp-0`` or ``shard-1``. Raises NotFoundError if there is no such log."""
        path = self.folder / "logs" / f"{process}.log"
        if Path(process).name != process or not path.is_file():
            known = ", ".join(sorted(log.stem for log in (self.folder / "logs").glob("*.log")))
            raise NotFoundError(f"no process {process!r} has written in {self.folder}; there are: {known}")
        return path.read_text(errors="replace")

    def plot(self, job: Optional[str] = None) -> Any:
        """Returns a matplotlib figure of a job, the only one if none is named.

        Over time: clocks a second; by how much each worker came last, a clock; the loss; deaths and checkpoints are marked.
        By worker: where its time went.
        """
        # By name, as what checks types need not have it.
        figures: Any = importlib.import_module("matplotlib.figure")

        workers, jobs, events = self.workers(), self.jobs(), self.events()
        names = sorted(set(jobs["job"]))
        if job is None and len(names) == 1:
            job = names[0]
        if job is None or job not in names:
            raise NotFoundError(f"say which job: {self.folder} has metrics of {', '.join(names) or 'none'}")
        figure = figures.Figure(figsize=(9, 10), layout="constrained")
        figure.suptitle(f"job {job} of {self.folder.name}")
        speed, late, loss, shares = figure.subplots(4, 1)
        of_job = _rows_of(jobs, job)
        times = [row["time"] for row in of_job]
        speed.plot(times, [row["clocks_per_second"] for row in of_job])
        speed.set_ylabel("clocks/s")
        loss.plot(times, [row["loss"] for row in of_job])
        loss.set_ylabel("loss")
        by_rank: "dict[int, list[dict[str, Any]]]" = {}
        for row in _rows_of(workers, job):
            by_rank.setdefault(row["rank"], []).append(row)
        for rank, rows in sorted(by_rank.items()):
            late.plot([row["time"] for row in rows], [1e3 * (row["late_seconds"] or 0) * (row["comes_last"] or 0) for row in rows],
                      label=f"worker {rank}")
        late.set_ylabel("late, ms a clock")
        ranks = sorted(by_rank)
        bottom = [0.0] * len(ranks)
        for name in ("computes", "calls", "waits"):
            heights = [_mean([row[name] for row in by_rank[rank]]) for rank in ranks]
            shares.bar(ranks, heights, bottom=bottom, label=name)
            bottom = [below + height for below, height in zip(bottom, heights)]
        shares.set_ylabel("share of the time")
        shares.set_xlabel("worker")
        shares.set_xticks(ranks if len(ranks) <= 32 else [])
        colors = {"process_died": "tab:red", "checkpoint": "tab:gray"}
        for axes in (speed, late, loss):
            if axes is not speed:
                axes.sharex(speed)
            for time, kind in zip(events["time"], events["kind"]):
                if kind in colors and times and times[0] <= time <= times[-1]:
                    axes.axvline(time, color=colors[kind], linewidth=0.8, linestyle=":")
        if len(ranks) <= 16:
            late.legend(loc="upper left", ncols=4, fontsize="small")
        shares.legend(loc="upper left", ncols=3, fontsize="small")
        return figure

    def _ask(self, command: str, *options: str) -> "list[dict[str, Any]]":
        done = subprocess.run([path_of_program(), command, os.fspath(self.folder), "--json", *options], capture_output=True, text=True)
        if done.returncode != 0:
            raise UnavailableError(done.stderr.strip())
        return [json.loads(line) for line in done.stdout.splitlines()]

    def _metrics(self) -> "Iterator[dict[str, Any]]":
        # The first is there where the other has grown too large.
        for name in ("metrics.1.jsonl", "metrics.jsonl"):
            for line in _lines(self.folder / name):
                if line.get("version") != _VERSION:
                    raise UnavailableError(f"{self.folder / name} is of another version of Tidegate: "
                                           f"{line.get('version')}, and this one reads {_VERSION}")
                yield line


def _lines(path: Path) -> "Iterator[dict[str, Any]]":
    """The objects of a file of lines, but for those that are not whole."""
    try:
        text = path.read_text(errors="replace")
    except FileNotFoundError:
        return
    for line in text.splitlines():
        try:
            found = json.loads(line)
        except ValueError:
            continue
        if isinstance(found, dict):
            yield found


def _kind(event: "dict[str, Any]") -> Any:
    # Runs of before have another word for it.
    return event.get("kind", event.get("what"))


def _time(line: "dict[str, Any]") -> datetime:
    happened = line.get("happened_ns", line["unix_ns"])
    return datetime.fromtimestamp(happened / 1e9, timezone.utc)


def _columns(names: "tuple[str, ...]", rows: "Iterator[tuple[Any, ...]]") -> "dict[str, list[Any]]":
    columns: "dict[str, list[Any]]" = {name: [] for name in names}
    for row in rows:
        for name, value in zip(names, row):
            columns[name].append(value)
    return columns


def _rows_of(columns: "dict[str, list[Any]]", job: str) -> "list[dict[str, Any]]":
    return [row for row in (dict(zip(columns, values)) for values in zip(*columns.values())) if row["job"] == job]


def _mean(values: "list[Any]") -> float:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else 0.0
