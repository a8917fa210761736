"""Launches sparse_logistic.yaml, and prints what its two jobs have come to side by side.

    python3 examples/sparse_logistic/compare.py [KEY=VALUE ...]

Values replace those of the file, as --set of tidegate launch does: jobs.whole.workers=3.
"""

import pathlib
import sys

import tidegate

COLUMNS = {"objective": "{:.4f}", "test_accuracy": "{:.4f}", "zero_share": "{:.4f}", "rows": "{:,.0f}",
           "mb_pushed": "{:,.1f}", "mb_pulled": "{:,.1f}"}


def main() -> None:
    result = tidegate.launch(pathlib.Path(__file__).with_suffix("").parent / "sparse_logistic.yaml", set=sys.argv[1:])
    lines = [["job", "policy", *COLUMNS]]
    for name, job in result.jobs.items():
        lines.append([name, job.policy, *(form.format(job.metrics[key]) for key, form in COLUMNS.items())])
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    for line in lines:
        print("  ".join(cell.rjust(width) for cell, width in zip(line, widths)))


if __name__ == "__main__":
    main()
