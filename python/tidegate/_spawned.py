"""A worker of :func:`tidegate.spawn`: ``python -m tidegate._spawned FOLDER`` runs the function that is there."""

from __future__ import annotations

import json
import os
import pickle
import sys
import traceback
from pathlib import Path
from typing import Any, Callable

from . import _session


def _write(path: Path, value: Any) -> None:
    """Replaces the file as a whole: this process may be killed at any moment, and another repeats it."""
    import cloudpickle

    begun = path.with_suffix(f".{os.getpid()}")
    begun.write_bytes(cloudpickle.dumps(value))
    begun.replace(path)


def _pickled_or_none(error: BaseException) -> Any:
    import cloudpickle

    try:
        pickled = cloudpickle.dumps(error)
        pickle.loads(pickled)
        return pickled
    except Exception:
        return None


def _load(place: Path) -> Callable[[], Any]:
    try:
        loaded = pickle.loads((place / "function.pkl").read_bytes())
        return lambda: loaded
    except Exception as error:
        failure = error

    def fail() -> Any:
        raise failure

    return fail


def main() -> int:
    place = Path(sys.argv[1])
    sys.path[:] = json.loads((place / "path.json").read_text())
    _session.finish_later()
    load = _load(place)  # a spare imports what the function needs before it has a place
    _session.await_place()
    rank = int(os.environ["TIDEGATE_RANK"])
    try:
        function, args, kwargs = load()
        returned = function(*args, **kwargs)
    except Exception as error:
        text = f"{type(error).__name__}: {error}"
        _write(place / f"error-{rank}.pkl", (text, traceback.format_exc(), _pickled_or_none(error)))
        traceback.print_exc()
        _session.fail_job(error)
        return 1
    try:
        _write(place / f"return-{rank}.pkl", returned)
    except Exception as error:
        text = f"what it returned cannot be pickled: {type(error).__name__}: {error}"
        _write(place / f"error-{rank}.pkl", (text, traceback.format_exc(), None))
        traceback.print_exc()
        _session.fail_job(error)
        return 1
    _session.finish_now()
    return 0


if __name__ == "__main__":
    sys.exit(main())
