"""For how long Python collects garbage, which `tidegate why` tells apart from other computing."""

from __future__ import annotations

import gc
import time

from . import _native

_since = 0


def watch() -> None:
    """Tells the session of each collection of this process from now on. A second call changes nothing."""
    if _note not in gc.callbacks:
        gc.callbacks.append(_note)


# Collections run in one thread at a time, wherever memory is asked for: also within a call of the session.
def _note(phase: str, _: "dict[str, int]") -> None:
    global _since
    now = time.perf_counter_ns()
    if phase == "stop" and _since:
        _native.note_garbage(now - _since)
    _since = now if phase == "start" else 0
