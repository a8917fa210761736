"""What tests of the package share: functions that run as the workers of a small cluster."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Callable

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
