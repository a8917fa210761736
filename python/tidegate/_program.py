"""Where the `tidegate` program is."""

from __future__ import annotations

import os
import shutil

from .errors import NotFoundError


def path_of_program() -> str:
    """Returns the program that came with this package, or else the one in PATH."""
    own = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "tidegate")
    if os.access(own, os.X_OK):
        return own
    found = shutil.which("tidegate")
    if found is None:
        raise NotFoundError(f"the program 'tidegate' is neither at {own} nor in PATH; install the package again")
    return found
