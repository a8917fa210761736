"""Sessions meet forks, threads, signals, exceptions and kills."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Callable

import pytest
import tidegate

Run = Callable[..., tidegate.Result]


def test_a_forked_child_may_not_use_the_session_and_harms_nothing(run: Run) -> None:
    def train() -> list[str]:
        import multiprocessing

        def use(s: tidegate.Session, w: tidegate.Table, grad: tidegate.View, said: "multiprocessing.Queue") -> None:
            for call in (w.push, w.pull, s.clock, lambda: w.grad, lambda: s.now, s.finish, lambda: grad[0],
                         lambda: s.exchange(), lambda: s.table("other", 5), lambda: s.fail("no")):
                try:
                    call()
                    said.put("used")
                except tidegate.OutOfOrderError as error:
                    said.put(str(error))

        forking = multiprocessing.get_context("fork")
        said = forking.Queue()
        with tidegate.session() as s:
            w = s.table("w", 5000, optimizer=tidegate.sgd(1.0))
            while s.now < 3:
                w.grad[:] = 1
                if s.now == 1:
                    child = forking.Process(target=use, args=(s, w, w.grad, said))
                    child.start()
                    heard = [said.get(timeout=30) for _ in range(10)]
                    child.join()
                    assert child.exitcode == 0
                    # One that ends as a whole program does, with its handlers and destructors.
                    pid = os.fork()
                    if pid == 0:
                        sys.exit(0)
                    assert os.waitpid(pid, 0)[1] == 0
                w.push()
                s.clock()
            w.pull()
            assert (w.value == -3).all()
        return heard

    heard = run(train, workers=2, shards=2).returns[0]
    assert all("forked from" in text for text in heard), heard


def test_another_thread_may_not_use_the_session_until_it_takes_over(run: Run) -> None:
    def train() -> list[str]:
        import threading

        said = []
        with tidegate.session() as s:
            w = s.table("w", 10, optimizer=tidegate.sgd(1.0))

            def use() -> None:
                try:
                    w.pull()
                except tidegate.OutOfOrderError as error:
                    said.append(str(error))
                s.take_over()
                w.pull()

            thread = threading.Thread(target=use)
            thread.start()
            thread.join()
            use()  # it is the other thread's now
        return said

    said = run(train).returns[0]
    assert len(said) == 2 and all("belongs to the thread" in text for text in said)


def test_a_session_ends_with_its_block_whichever_thread_has_it(run: Run) -> None:
    def train() -> int:
        import threading

        with tidegate.session() as s:
            w = s.table("w", 10, optimizer=tidegate.sgd(1.0))

            def step() -> None:
                s.take_over()
                w.grad[:] = 1
                s.exchange([w])

            thread = threading.Thread(target=step)
            thread.start()
            thread.join()
        return 1

    assert run(train).returns == [1]


def test_other_threads_run_while_one_waits(run: Run) -> None:
    def train() -> bool:
        import threading

        with tidegate.session() as s:
            w = s.table("w", 10, optimizer=tidegate.sgd(1.0))
            arrived = threading.Event()
            if s.rank == 0:  # waits for worker 1, which waits for a thread of worker 0's process
                threading.Thread(target=lambda: open(os.path.join(folder, "go"), "w").close()).start()
            else:
                while not os.path.exists(os.path.join(folder, "go")):
                    arrived.wait(0.01)
            w.push()
            s.clock()
            w.pull()
        return True

    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        assert run(train, workers=2).returns == [True, True]


def test_ctrl_c_ends_a_wait_and_the_job_says_why(run: Run) -> None:
    def train() -> str:
        import signal
        import threading
        import time

        with tidegate.session() as s:
            w = s.table("w", 10, optimizer=tidegate.sgd(1.0))
            if s.rank == 1:
                try:
                    time.sleep(60)  # ended with the job
                finally:
                    pass
            threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
            w.grad[:] = 0
            s.exchange()
        return "not reached"

    with pytest.raises(tidegate.LaunchError, match="KeyboardInterrupt"):
        run(train, workers=2)


def test_a_wait_may_go_on_after_ctrl_c(run: Run) -> None:
    def train() -> float:
        import signal
        import threading
        import time

        with tidegate.session() as s:
            w = s.table("w", 10, optimizer=tidegate.sgd(1.0))
            w.grad[:] = 1
            if s.rank == 1:
                time.sleep(1)
            pushed = w.push()
            if s.rank == 0:
                threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
                try:
                    pushed.wait()  # for worker 1
                    raise AssertionError("not interrupted")
                except KeyboardInterrupt:
                    pushed.wait()
            s.clock()
            w.pull()
            return float(w.value[0])

    assert run(train, workers=2).returns == [-1.0, -1.0]


def test_a_worker_that_raises_ends_the_job_with_its_traceback(run: Run) -> None:
    def train() -> None:
        with tidegate.session() as s:
            w = s.table("w", 10)
            w.pull()
            if s.rank == 1:
                raise RuntimeError("the disk is on fire")
            w.push()
            s.clock()
            w.pull()

    with pytest.raises(tidegate.WorkerError, match="worker 1 raised RuntimeError: the disk is on fire") as caught:
        run(train, workers=2)
    assert caught.value.rank == 1 and "in train" in caught.value.traceback
    assert isinstance(caught.value.__cause__, RuntimeError)
    result = caught.value.result
    assert isinstance(result, tidegate.Result) and result.state == "failed"
    assert "worker 1: RuntimeError: the disk is on fire" in (result.job.failure or "")


def test_a_function_that_raises_before_its_session_is_not_tried_again(run: Run) -> None:
    def train() -> None:
        raise KeyError("no such file")

    with pytest.raises(tidegate.WorkerError, match="KeyError") as caught:
        run(train)
    events = (caught.value.result.run_dir / "events.jsonl").read_text()  # type: ignore[attr-defined]
    assert "restart" not in events


@pytest.mark.parametrize("ending", ["sys.exit(0)", "pass", "raise ValueError('bad')"])
def test_a_program_that_ends_in_mid_clock_fails_the_job(tmp_path: Path, ending: str) -> None:
    script = tmp_path / "train.py"
    script.write_text(f"""
import sys, tidegate
s = tidegate.session()
w = s.table("w", 10)
w.grad[:] = 1
w.push()
{ending}
""")
    (tmp_path / "c.yaml").write_text(f"""
cluster: {{name: c}}
jobs: {{j: {{command: [{sys.executable}, {script}]}}}}
""")
    with pytest.raises(tidegate.LaunchError) as caught:
        tidegate.launch(tmp_path / "c.yaml", run_dir=tmp_path / "run")
    assert ("ValueError: bad" if "bad" in ending else "ended without finish(), at its clock 0") in str(caught.value)


def test_a_run_ends_with_the_process_that_launched_it(tmp_path: Path) -> None:
    script = tmp_path / "launch.py"
    script.write_text(f"""
import time
import tidegate

def forever():
    with tidegate.session() as s:
        w = s.table("w", 10)
        while True:
            w.grad[:] = 0
            s.exchange()
            time.sleep(0.01)

tidegate.spawn(forever, workers=2, run_dir="{tmp_path}/run")
""")
    parent = subprocess.Popen([sys.executable, script])
    try:
        wait_until(lambda: "job_running" in text_of(tmp_path / "run/events.jsonl"), "the job runs")
    finally:
        parent.kill()
        parent.wait()
    wait_until(lambda: '"interrupted"' in text_of(tmp_path / "run/result.json"), "the launcher has ended the run")


def text_of(path: Path) -> str:
    return path.read_text() if path.exists() else ""


def wait_until(condition: Callable[[], bool], wanted: str) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline, f"not within 30 s: {wanted}"
        time.sleep(0.01)


def test_views_outlive_the_session_and_say_so(run: Run) -> None:
    def train() -> list[str]:
        said = []
        with tidegate.session() as s:
            w = s.table("w", 5000, optimizer=tidegate.sgd(1.0))
            w.pull()
            grad, value, inner = w.grad, w.value, w.grad[10:]
            raw = inner._array  # what no program can reach: the memory stays there
            grad[:] = 3
        for view in (grad, value, inner):
            try:
                view.sum()
            except tidegate.InvalidViewError as error:
                said.append(str(error))
        assert raw.sum() == 3 * 4990
        return said

    assert len(run(train).returns[0]) == 3


def test_a_killed_worker_is_replaced_and_the_bits_are_the_same(run: Run) -> None:
    def train(killed: bool) -> int:
        import signal

        import numpy as np

        with tidegate.session() as s:
            w = s.table("w", 3000, optimizer=tidegate.adam(0.01), init=tidegate.uniform(1.0))
            while s.now < 60:
                w.pull()
                w.grad[:] = np.random.default_rng([s.seed, s.rank, s.now]).standard_normal(3000) + w.value
                if killed and s.incarnation < 4 and s.now == 10 * s.incarnation + s.rank:
                    os.kill(os.getpid(), signal.SIGKILL)
                w.push()
                s.clock()
            return s.incarnation

    calm = run(train, workers=3, shards=2, args=(False,))
    rough = run(train, workers=3, shards=2, args=(True,), replicas=1,
                set={"supervision.worker.max_restarts": 100, "supervision.worker.backoff": "1ms"})
    assert calm.returns == [1, 1, 1] and rough.returns == [4, 4, 4]
    assert rough.parameters_sha256 == calm.parameters_sha256


def test_what_cannot_be_pickled_is_told_before_anything_runs(tmp_path: Path) -> None:
    import threading

    lock = threading.Lock()

    def train() -> None:
        with lock:
            pass

    with pytest.raises(tidegate.InvalidArgumentError, match="train cannot be sent to workers: TypeError"):
        tidegate.spawn(train, run_dir=tmp_path / "run")
    assert not (tmp_path / "run").exists()

    def lost() -> object:
        with tidegate.session():
            return threading.Lock()

    with pytest.raises(tidegate.WorkerError, match="what it returned cannot be pickled"):
        tidegate.spawn(lost, run_dir=tmp_path / "run")


def test_outside_of_a_cluster_there_is_no_session() -> None:
    with pytest.raises(tidegate.InvalidArgumentError, match="TIDEGATE_COORDINATOR"):
        tidegate.session()


def test_bad_settings_are_told_with_their_place(tmp_path: Path) -> None:
    with pytest.raises(tidegate.InvalidArgumentError, match="consistency 'sometimes'; allowed: 'bsp'"):
        tidegate.spawn(print, consistency="sometimes")
    with pytest.raises(tidegate.InvalidArgumentError, match="workers"):
        tidegate.spawn(print, workers=0, run_dir=tmp_path / "run")
    with pytest.raises(tidegate.InvalidArgumentError, match="nowhere.yaml"):
        tidegate.launch(tmp_path / "nowhere.yaml")


def test_workers_are_told_their_place_and_are_followed(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "place.py").write_text("""
import os, tidegate
with tidegate.session() as s:
    print("place", *(os.environ[name] for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE")),
          s.rank, s.size, os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]) > 0)
    print("an end without a newline", end="")
""")
    (tmp_path / "c.yaml").write_text(f"""
cluster: {{name: c}}
jobs: {{j: {{workers: 2, command: [{sys.executable}, {tmp_path}/place.py]}}}}
""")
    tidegate.launch(tmp_path / "c.yaml", run_dir=tmp_path / "run", follow=True)
    shown = capfd.readouterr().out.splitlines()
    for rank in (0, 1):
        assert f"[{rank}] place {rank} 2 {rank} 2 {rank} 2 127.0.0.1 True" in shown
        assert f"[{rank}] an end without a newline" in shown


def test_public_names_are_listed_alike() -> None:
    assert sorted(tidegate.__all__) == sorted(tidegate._HOME_OF)
    for name in tidegate.__all__:
        assert getattr(tidegate, name) is not None


def test_importing_is_cheap() -> None:
    probe = "import sys, tidegate; print([m for m in sys.modules if m.split('.')[0] in ('numpy', 'torch', 'jax')])"
    said = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert said.stdout == "[]\n"
