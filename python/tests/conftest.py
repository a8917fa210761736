"""What tests of the package share: functions that run as the workers of a small cluster."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any, Callable, Iterator

import preloaded
import pytest
import tidegate


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., tidegate.Result]:
    """Runs a function as the workers of a cluster whose run folder is the test's."""

    def spawn(function: Callable[..., Any], **options: Any) -> tidegate.Result:
        options.setdefault("run_dir", tmp_path / f"run{len(os.listdir(tmp_path))}")
        options.setdefault("set", {"cluster.chunk_bytes": "4KiB"})
        return tidegate.spawn(function, **options)

    return spawn


@pytest.fixture(scope="session")
def torch_imported(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A program in place of sys.executable whose processes have torch from their beginning (preloaded.py)."""
    with preloaded.interpreter(tmp_path_factory.mktemp("preloaded"), "cloudpickle", "pytest", "tidegate._cluster",
                               "tidegate.torch", "torch._dynamo", "torch.distributed", "torch.utils.data") as program:
        yield program


@pytest.fixture
def workers_with_torch(torch_imported: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The test's workers have torch from their beginning."""
    monkeypatch.setattr(sys, "executable", torch_imported)
