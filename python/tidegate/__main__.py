"""``python -m tidegate``: the `tidegate` program, and ``doctor``."""

from __future__ import annotations

import os
import sys

from ._program import path_of_program
from .errors import TidegateError


def main() -> int:
    if sys.argv[1:2] == ["doctor"]:
        from ._doctor import main as doctor

        return doctor(sys.argv[2:])
    try:
        program = path_of_program()
    except TidegateError as error:
        print(f"tidegate: {error}", file=sys.stderr)
        return 2
    os.execv(program, [program, *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
