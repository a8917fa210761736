"""examples/notebook.ipynb, and what spawn does for functions and classes that are defined in cells."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path
from typing import Any

import pytest

nbclient = pytest.importorskip("nbclient", reason="scripts/python-packages-notebook has it")
nbformat = pytest.importorskip("nbformat")

HERE = Path(__file__).resolve().parents[2]
LIMIT = 300  # seconds a cell may take


def executed(notebook: Any, folder: Path) -> "list[str]":
    """Runs all cells in a kernel of this Python; returns what each code cell printed. Raises if a cell does."""
    nbclient.NotebookClient(notebook, timeout=LIMIT, kernel_name="python3",
                            resources={"metadata": {"path": str(folder)}}).execute()
    return printed_by(notebook)


def printed_by(notebook: Any) -> "list[str]":
    return ["".join(output.get("text", "") for output in cell.outputs) for cell in notebook.cells if cell.cell_type == "code"]


def notebook_of(*cells: str) -> Any:
    return nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(textwrap.dedent(cell)) for cell in cells])


@pytest.mark.skipif(not Path("/usr/share/datasets/fashion-mnist").exists(), reason="no dataset-fashion-mnist here")
def test_the_example_runs_and_shows_equal_bits(tmp_path: Path) -> None:
    committed = nbformat.read(HERE / "examples/notebook.ipynb", as_version=4)
    nbformat.validate(committed)
    shown = printed_by(committed)
    printed = executed(nbformat.from_dict(committed), tmp_path)
    for texts in (shown, printed):
        whole = "\n".join(texts)
        assert "the same bits: True" in whole and "incarnations: [1, 2]" in whole, whole
        for event in ("process_died", "worker_resumes", "replica_promoted"):
            assert event in whole
        accuracies = {policy: float(found) for policy, found in re.findall(r"(bsp|ssp\S*) +accuracy ([\d.]+)", texts[-1])}
        assert len(accuracies) == 2 and min(accuracies.values()) > 0.75, texts[-1]
        assert "worker 1 of job train" in whole  # the live lines came through


def test_what_cells_define_travels_both_ways(tmp_path: Path) -> None:
    printed = executed(notebook_of(
        """
        import dataclasses
        import tidegate

        @dataclasses.dataclass
        class Found:
            rank: int
            text: str

        FACTOR = 3

        def helper(x):
            return FACTOR * x
        """,
        """
        def train(offset):
            with tidegate.session() as s:
                print("said by", s.rank)
                return Found(s.rank, str(helper(s.rank) + offset))

        result = tidegate.spawn(train, workers=2, args=(4,))
        print(result.returns, all(isinstance(found, Found) for found in result.returns))
        """,
        """
        FACTOR = 5  # a cell that runs again counts
        print(tidegate.spawn(lambda: helper(train(1).rank + 1), follow=False).returns)
        """,
        """
        def wrong():
            with tidegate.session():
                return undefined

        try:
            tidegate.spawn(wrong)
        except tidegate.WorkerError as error:
            print(type(error.__cause__).__name__, "in wrong" in error.traceback)
        """), tmp_path)
    assert "[Found(rank=0, text='4'), Found(rank=1, text='7')] True" in printed[1], printed
    assert "[0] said by 0" in printed[1] and "[1] said by 1" in printed[1], printed
    assert "[5]" in printed[2], printed
    assert "NameError True" in printed[3], printed
