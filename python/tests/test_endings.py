"""How a program ends decides what becomes of its session."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import tidegate


@pytest.mark.parametrize("ending", ["pass", "exit(0)", "exit(1)", "raise SystemExit(3)", "early('no data')"])
def test_a_session_of_the_process_is_finished_by_a_program_that_ends_well(tmp_path: Path, ending: str) -> None:
    script = tmp_path / "train.py"
    script.write_text(f"""
from sys import exit as early
from tidegate._session import process_session
import tidegate
s = process_session()
w = s.table("w", 10, optimizer=tidegate.sgd(1))
w.grad[:] = 1
s.exchange()
{ending}
""")
    (tmp_path / "c.yaml").write_text(f"""
cluster: {{name: c}}
jobs: {{j: {{command: [{sys.executable}, {script}]}}}}
""")
    if ending in ("pass", "exit(0)"):
        assert tidegate.launch(tmp_path / "c.yaml", run_dir=tmp_path / "run").jobs["j"].state == "done"
        return
    with pytest.raises(tidegate.LaunchError) as caught:
        tidegate.launch(tmp_path / "c.yaml", run_dir=tmp_path / "run")
    assert f"the program ended with status {3 if '3' in ending else 1}, without finish()" in str(caught.value)
