"""Clusters that are launched from Python: :func:`launch` for a cluster file, :func:`spawn` for a function."""

from __future__ import annotations

import dataclasses
import json
import os
import pickle
import re
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any, Callable, IO, Mapping, Optional, Sequence, Union

from ._program import path_of_program
from .errors import InvalidArgumentError, LaunchError, WorkerError

Settings = Union[None, Mapping[str, object], Sequence[str]]


@dataclasses.dataclass(frozen=True)
class JobResult:
    """What became of a job: the entry of result.json, whole in ``raw``."""

    name: str
    policy: str
    state: str  # "done", "failed", "interrupted"
    failure: Optional[str]
    parameters_sha256: Optional[str]
    clocks: int
    wall_seconds: float
    staleness_max: int
    metrics: dict[str, float]
    raw: dict[str, Any]


@dataclasses.dataclass(frozen=True)
class Result:
    """What became of a run. The properties are those of its job, where it had one job."""

    run_dir: Path
    exit_code: int
    jobs: dict[str, JobResult]
    returns: list[Any] = dataclasses.field(default_factory=list)  # of spawn: what each rank's function returned

    @property
    def job(self) -> JobResult:
        if len(self.jobs) != 1:
            raise InvalidArgumentError(f"the run had {len(self.jobs)} jobs; take one of Result.jobs")
        return next(iter(self.jobs.values()))

    @property
    def state(self) -> str:
        return self.job.state

    @property
    def parameters_sha256(self) -> Optional[str]:
        return self.job.parameters_sha256

    @property
    def metrics(self) -> dict[str, float]:
        return self.job.metrics


def launch(file: Union[str, "os.PathLike[str]"], *, set: Settings = None,
           run_dir: Union[None, str, "os.PathLike[str]"] = None, follow: bool = False) -> Result:
    """Runs a cluster file to its end, as ``tidegate launch`` does, and returns its results.

    `set`: values that replace those of the file, as ``{"jobs.mlp.workers": 8}`` or ``["jobs.mlp.workers=8"]``.
    `run_dir`: where logs and results go; new or empty, ``runs/NAME-TIME`` without it. `follow`: shows what workers
    write. The live line goes to sys.stdout. Ctrl-C ends the run. Raises LaunchError if a job is not done.
    """
    return _checked(*_run([os.fspath(file), *_set_options(set)], run_dir, follow))


def spawn(function: Callable[..., Any], *, workers: int = 1, shards: int = 1, consistency: str = "bsp",
          replicas: int = 0, spares: int = 0, args: Sequence[Any] = (), kwargs: Optional[Mapping[str, Any]] = None,
          reduce: str = "mean", clip_norm: float = 0.0, seed: int = 1, run_dir: Union[None, str, "os.PathLike[str]"] = None,
          follow: bool = True, name: Optional[str] = None, set: Settings = None) -> Result:
    """Runs ``function(*args, **kwargs)`` in `workers` processes, as the job of a cluster of its own.

    The function opens :func:`tidegate.session`. It is pickled by value where it comes from a notebook or from the
    script that runs, so nothing needs to be importable. What it returns is in ``Result.returns``, by rank; a process
    that is killed before that is stored is replaced, also when its session has ended.

    `consistency`: ``"bsp"``, ``"ssp:3"`` or ``"async"``. `reduce`: ``"mean"`` or ``"sum"`` of the workers' gradients.
    `clip_norm`: the norm of the reduced gradient of a clock, over all tables, is brought down to it, under bsp alone;
    0: no limit.
    `spares`: so many processes have loaded the function, and what it refers to, and wait for the place of a worker
    that dies; they may be copies of one more. `set`: further keys of the cluster file, as in :func:`launch`; the job is named `name`, the function's name
    without it. Raises WorkerError, with the traceback, if the function raises; InvalidArgumentError if it cannot be
    pickled; LaunchError if the job is not done for another reason.
    """
    if not callable(function):
        raise InvalidArgumentError(f"spawn runs a function; this is a {type(function).__name__}")
    job = name or re.sub(r"[^A-Za-z0-9_-]", "", getattr(function, "__name__", "")) or "job"
    payload = _pickled(function, tuple(args), dict(kwargs or {}))
    with tempfile.TemporaryDirectory(prefix="tidegate-spawn-") as folder:
        place = Path(folder)
        (place / "function.pkl").write_bytes(payload)
        (place / "path.json").write_text(json.dumps(sys.path))
        # JSON is YAML.
        (place / "cluster.yaml").write_text(json.dumps({
            "cluster": {"name": job, "shards": shards, "replicas": replicas},
            "jobs": {job: {"workers": workers, "reduce": reduce, "seed": seed, "spares": spares,
                           "consistency": _policy_of(consistency), "gradients": {"clip_norm": clip_norm},
                           "command": [sys.executable, "-m", "tidegate._spawned", folder]}}}, indent=1))
        exit_code, found = _run([str(place / "cluster.yaml"), *_set_options(set)], run_dir, follow)
        _raise_of_workers(place, exit_code, found)
        result = _checked(exit_code, found)
        ranks = [int(path.stem.split("-")[1]) for path in place.glob("return-*.pkl")]
        returns = [_unpickled(place / f"return-{rank}.pkl") for rank in range(max(ranks, default=-1) + 1)]
    return dataclasses.replace(result, returns=returns)


def _policy_of(text: str) -> dict[str, Any]:
    match = re.fullmatch(r"(bsp|async)|ssp[:(](\d+)\)?", text)
    if match is None:
        raise InvalidArgumentError(f"consistency {text!r}; allowed: 'bsp', 'async', and 'ssp:N' as in 'ssp:3'")
    return {"policy": match[1]} if match[1] else {"policy": "ssp", "staleness": int(match[2])}


def _words_of(values: Settings) -> list[str]:
    """Each setting as ``key=value``."""
    if values is None:
        return []
    if isinstance(values, Mapping):
        return [f"{key}={value if isinstance(value, str) else json.dumps(value)}" for key, value in values.items()]
    if isinstance(values, str):
        raise InvalidArgumentError("set is a map, or a list of texts like 'jobs.mlp.workers=8'")
    return list(values)


def _set_options(values: Settings) -> list[str]:
    return [option for word in _words_of(values) for option in ("--set", word)]


def _pickled(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> bytes:
    import cloudpickle

    try:
        return bytes(cloudpickle.dumps((function, args, kwargs)))
    except Exception as error:
        raise InvalidArgumentError(f"{getattr(function, '__qualname__', function)!s} cannot be sent to workers: "
                                   f"{type(error).__name__}: {error}. What it refers to must be picklable; open files, "
                                   "locks and sessions within the function") from error


def _unpickled(path: Path) -> Any:
    return pickle.loads(path.read_bytes()) if path.exists() else None


def _follows_from_the_end(text: str) -> bool:
    return text.startswith("RefusedError: ") and "the job has ended" in text


def _raise_of_workers(place: Path, exit_code: int, result: Optional[Result]) -> None:
    errors = sorted(place.glob("error-*.pkl"), key=lambda path: path.stat().st_mtime_ns)
    # Where the job is done after all, only what has come to nothing counts.
    if exit_code == 0:
        errors = [path for path in errors if not path.with_name(path.name.replace("error", "return")).exists()]
    # Who was refused because the job had ended has not ended it; without another error a death has, say.
    errors = [path for path in errors if not _follows_from_the_end(_unpickled(path)[0])]
    if not errors:
        return
    rank = int(errors[0].stem.split("-")[1])
    text, traceback, cause = _unpickled(errors[0])
    raise WorkerError(f"worker {rank} raised {text}\n\n{traceback}", rank, traceback, exit_code,
                      result) from (pickle.loads(cause) if cause is not None else None)


def _run(arguments: list[str], run_dir: Union[None, str, "os.PathLike[str]"],
         follow: bool) -> tuple[int, Optional[Result]]:
    """Runs `tidegate launch`; returns how it ended, and what its folder says, if there is one."""
    with tempfile.TemporaryDirectory(prefix="tidegate-launch-") as folder:
        note = Path(folder) / "run_dir"
        command = [path_of_program(), "launch", *arguments, "--run-dir-file", str(note)]
        if run_dir is not None:
            command += ["--run-dir", os.fspath(run_dir)]
        if follow:
            command.append("--follow")
        exit_code = _carry_out(command)
        where = Path(note.read_text().rstrip("\n")) if note.exists() else None
    return exit_code, _result_of(where, exit_code) if where is not None else None


def _carry_out(command: list[str]) -> int:
    # A notebook's sys.stdout is no file, so lines are handed on.
    direct = _is_descriptor(sys.stdout, 1)
    said: list[str] = []
    # Signals of a terminal come to this process alone, which passes them on. If it is killed the run ends, too.
    tied = [sys.executable, "-I", os.path.join(os.path.dirname(__file__), "_tied.py"), str(os.getpid()), *command]
    process = subprocess.Popen(tied, stdin=subprocess.DEVNULL, stdout=None if direct else subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, errors="replace", start_new_session=True)
    readers = [threading.Thread(target=_hand_on, args=(process.stderr, sys.stderr, said), daemon=True)]
    if not direct:
        readers.append(threading.Thread(target=_hand_on, args=(process.stdout, sys.stdout, None), daemon=True))
    for reader in readers:
        reader.start()
    interrupted: Optional[KeyboardInterrupt] = None
    while process.returncode is None:
        try:
            process.wait()
        except KeyboardInterrupt as error:
            interrupted = error
            process.send_signal(signal.SIGINT)
    for reader in readers:
        reader.join()
    if interrupted is not None:
        raise interrupted
    if process.returncode == 2:
        raise InvalidArgumentError("".join(said).strip() or f"{command[0]} refused its arguments")
    return process.returncode


def _is_descriptor(stream: Any, number: int) -> bool:
    try:
        return bool(stream.fileno() == number)
    except (AttributeError, OSError, ValueError):
        return False


def _hand_on(lines: Optional[IO[str]], to: Any, kept: Optional[list[str]]) -> None:
    """Also once nothing can be written any more: a pipe that nobody reads would stop the launcher."""
    assert lines is not None
    can_write = True
    for line in lines:
        if kept is not None:
            kept.append(line)
        if can_write:
            can_write = _has_written(line, to)


def _has_written(line: str, to: Any) -> bool:
    try:
        try:
            to.write(line)
        except UnicodeEncodeError:
            to.write(line.encode("ascii", "backslashreplace").decode("ascii"))
        to.flush()
    except (OSError, ValueError):  # it is closed, or its reader is gone
        return False
    return True


def _result_of(run_dir: Path, exit_code: int) -> Optional[Result]:
    try:
        raw = json.loads((run_dir / "result.json").read_text())
    except (OSError, ValueError):
        return None
    jobs = {}
    for job in raw["jobs"]:
        metrics = dict(job["metrics"])
        for key in ("loss", "test_accuracy"):
            if job[key] is not None:
                metrics[key] = job[key]
        jobs[job["name"]] = JobResult(job["name"], job["policy"], job["state"], job["failure"],
                                      job["parameters_sha256"], job["clocks"], job["wall_seconds"],
                                      job["staleness_max"], metrics, job)
    return Result(run_dir, exit_code, jobs)


def _checked(exit_code: int, result: Optional[Result]) -> Result:
    if exit_code == 0 and result is not None:
        return result
    failures = [f"job {job.name} is {job.state}: {job.failure or 'see its logs'}"
                for job in (result.jobs.values() if result else ()) if job.state != "done"]
    where = f" (logs in {result.run_dir / 'logs'})" if result is not None else ""
    raise LaunchError(("; ".join(failures) or f"tidegate launch ended with exit code {exit_code}") + where, exit_code,
                      result)
