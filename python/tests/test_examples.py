"""The examples for users, as their pages tell to run them."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Callable

import numpy as np
import pytest
import tidegate

HERE = Path(__file__).resolve().parents[2]
needs_torch = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="scripts/test --without torch")


def runs_of(cluster: Path, folder: Path, **always: object) -> Callable[..., tidegate.Result]:
    """A function that launches this cluster, with these settings and its own, in the run folder of a name."""

    def run(name: str, **settings: object) -> tidegate.Result:
        return tidegate.launch(cluster, run_dir=folder / name, set={**always, **settings})

    return run


def commands(job: str, python: str, *words: str) -> "tuple[dict[str, str], dict[str, str]]":
    """Settings for calm runs, as users run the job, and for others, whose workers are of this Python."""
    calm, other = ({f"jobs.{job}.command": json.dumps([program, *words])} for program in (sys.executable, python))
    return calm, other


@pytest.mark.skipif(not Path("/usr/share/datasets/fashion-mnist").exists(), reason="no dataset-fashion-mnist here")
def test_logistic_regression_learns_and_survives_kills(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    command = json.dumps([sys.executable, str(HERE / "examples/numpy/logistic_regression.py"), "--epochs", "2"])

    run = runs_of(HERE / "examples/numpy/logistic_regression.yaml", tmp_path, **{"jobs.softmax.command": command})

    calm = run("calm")
    assert calm.metrics["test_accuracy"] > 0.8
    rough = run("rough", **{"faults.at": "{clock 100: kill worker-softmax-1, clock 200: kill shard-0, "
                                         "clock 300: kill coordinator-0, clock 350: kill worker-softmax-3}"})
    assert rough.parameters_sha256 == calm.parameters_sha256
    shown = capfd.readouterr()
    assert "worker 1 of job softmax" in shown.err and "worker 3 of job softmax" in shown.err


def write_languages(folder: Path, **counts: int) -> None:
    """Paragraphs in 16 languages that nobody speaks, in the form of examples/languages/prepare.py: with words of their own,
    and names that are in one paragraph alone."""
    random = np.random.default_rng(7)

    def words(count: int, letters: str = "abcdefghijklmnopqrstuvwxyz") -> list[str]:
        return ["".join(random.choice(list(letters), random.integers(2, 9))) for _ in range(count)]

    languages = [words(40) for _ in range(16)]
    names = "".join(chr(0x400 + i) for i in range(250))
    folder.mkdir()
    for part, count in counts.items():
        lines = [f"{i % 16}\t" + " ".join([*random.choice(languages[i % 16], 15), *words(6, names)]) for i in range(count)]
        (folder / f"{part}.tsv").write_text("\n".join(lines), encoding="utf-8")


# The jobs of the example in one run: what the filters leave out changes neither the objective nor the zeros.
def test_sparse_logistic_regression_saves_traffic_and_survives_kills(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    write_languages(tmp_path / "data", train=640, test=320)
    base = [sys.executable, str(HERE / "examples/sparse_logistic/sparse_logistic.py"), "--data", str(tmp_path / "data"),
            "--l1", "3e-4", "--rate", "100", "--blocks", "4", "--passes", "8"]
    run = runs_of(HERE / "examples/sparse_logistic/sparse_logistic.yaml", tmp_path, **{
        "jobs.filtered.command": json.dumps([*base, "--rest", "4"]), "jobs.whole.command": json.dumps([*base, "--filter", "none"])})
    bsp = {f"jobs.{job}.consistency": "{policy: bsp}" for job in ("filtered", "whole")}

    def check(result: tidegate.Result, tolerance: float) -> None:
        filtered, whole = (result.jobs[job].metrics for job in ("filtered", "whole"))
        assert filtered["objective"] == pytest.approx(whole["objective"], rel=tolerance)
        assert filtered["test_accuracy"] == pytest.approx(whole["test_accuracy"], abs=0.02)
        assert filtered["test_accuracy"] > 0.9 and filtered["zero_share"] > 0.9
        assert filtered["mb_pushed"] < whole["mb_pushed"] / 3
        assert filtered["mb_pulled"] < whole["mb_pulled"] / 2
        assert filtered["rows"] < whole["rows"] / 2

    calm = run("calm", **bsp)
    check(calm, 1e-3)
    rough = run("rough", **bsp, **{"faults.at": "{clock 8: kill worker-filtered-1, clock 12: kill worker-whole-0, clock 18: kill "
                                                "shard-0, clock 26: kill coordinator-0, clock 32: kill worker-filtered-0}"})
    for name, job in rough.jobs.items():
        assert job.parameters_sha256 == calm.jobs[name].parameters_sha256
        assert job.metrics == calm.jobs[name].metrics
    shown = capfd.readouterr()
    assert "worker 1 of job filtered" in shown.err and "worker 0 of job whole" in shown.err
    check(run("delayed"), 1e-2)


@needs_torch
def test_the_cnn_learns_under_bsp_and_ssp_and_survives_kills(tmp_path: Path, torch_imported: str) -> None:
    as_users, command = commands("cnn", torch_imported, str(HERE / "examples/pytorch/fashion_mnist.py"), "--epochs", "1",
                                 "--images", "30000")

    run = runs_of(HERE / "examples/pytorch/fashion_mnist.yaml", tmp_path, **{"jobs.cnn.workers": 2})

    calm = run("calm", **as_users)
    assert calm.metrics["test_accuracy"] > 0.8
    rough = run("rough", **command, **{"faults.at": "{clock 50: kill worker-cnn-1, clock 100: kill shard-0, "
                                         "clock 150: kill coordinator-0}"})
    assert rough.parameters_sha256 == calm.parameters_sha256
    # Stale runs of 15,000 images end between 0.72 and 0.78 (sd 0.014, bsp 0.757); those of 30,000 at 0.824 (sd 0.005, bsp
    # 0.828), and half of their pushes would bring 0.757.
    loose = run("loose", **command, **{"jobs.cnn.consistency": "{policy: ssp, staleness: 3}"})
    assert loose.metrics["test_accuracy"] > calm.metrics["test_accuracy"] - 0.05


def test_the_jax_example_learns_what_other_workers_see(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("jax", reason="scripts/test --without torch")
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", str(tmp_path / "compiled"))  # by the calm run, for the rough one
    monkeypatch.setenv("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
    command = json.dumps([sys.executable, str(HERE / "examples/jax/fashion_mnist.py"), "--epochs", "1", "--batch", "256",
                          "--by-label"])

    run = runs_of(HERE / "examples/jax/fashion_mnist.yaml", tmp_path, **{"jobs.mlp.command": command})

    calm = run("calm")
    # Worker 0 has the lower labels of each batch: its own gradients teach it about half of the ten.
    assert calm.metrics["test_accuracy"] > 0.75
    rough = run("rough", **{"faults.at": "{clock 100: kill shard-0, clock 200: kill coordinator-0}"})
    assert rough.parameters_sha256 == calm.parameters_sha256
    assert rough.metrics == calm.metrics


@needs_torch
def test_clicks_are_learned_by_segments_and_dense_layers_and_survive_kills(tmp_path: Path, torch_imported: str) -> None:
    as_users, command = commands("clicks", torch_imported, str(HERE / "examples/clicks/clicks.py"), "--clocks", "150")

    run = runs_of(HERE / "examples/clicks/clicks.yaml", tmp_path)

    calm = run("calm", **as_users)
    assert calm.metrics["test_auc"] > 0.8
    rough = run("rough", **command, **{"faults.at": "{clock 30: kill worker-clicks-1, clock 60: kill shard-0, "
                                         "clock 90: kill coordinator-0}"})
    assert rough.parameters_sha256 == calm.parameters_sha256


@needs_torch
def test_an_embedding_learns_languages_and_survives_kills(tmp_path: Path, torch_imported: str) -> None:
    example = HERE / "examples/languages"
    prepared = subprocess.run([sys.executable, "-B", example / "prepare.py", "--output", tmp_path / "data"])
    if prepared.returncode == 77:
        pytest.skip("Debian's packages cannot be had")
    assert prepared.returncode == 0
    as_users, command = commands("languages", torch_imported, str(example / "languages.py"), "--data", str(tmp_path / "data"),
                                 "--epochs", "1")

    run = runs_of(example / "languages_pytorch.yaml", tmp_path)

    calm = run("calm", **as_users)
    assert calm.metrics["test_accuracy"] > 0.97
    rough = run("rough", **command, **{"faults.at": "{clock 30: kill worker-languages-1, clock 60: kill shard-0, "
                                         "clock 100: kill coordinator-0}"})
    assert rough.parameters_sha256 == calm.parameters_sha256
