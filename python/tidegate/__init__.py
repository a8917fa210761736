"""Tidegate: a fault-tolerant parameter server.

A worker is any script that opens a session::

    import tidegate

    with tidegate.session() as s:
        w = s.table("w", (784, 10), optimizer=tidegate.sgd(0.1))
        while s.now < 1000:
            w.pull()
            w.grad[...] = gradient_of(w.value, batch_of(s.rank, s.now))
            w.push()
            s.clock()

``tidegate launch cluster.yaml`` starts it, :func:`launch` does so from Python, and :func:`spawn`
runs a function as the workers of a cluster of its own.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._version import __version__ as __version__
    from ._cluster import JobResult as JobResult
    from ._cluster import Result as Result
    from ._cluster import launch as launch
    from ._cluster import spawn as spawn
    from .errors import AlreadyExistsError as AlreadyExistsError
    from .errors import CancelledError as CancelledError
    from .errors import CorruptError as CorruptError
    from .errors import IoError as IoError
    from .errors import InvalidArgumentError as InvalidArgumentError
    from .errors import InvalidViewError as InvalidViewError
    from .errors import LaunchError as LaunchError
    from .errors import NoSpaceError as NoSpaceError
    from .errors import NotFiniteError as NotFiniteError
    from .errors import NotFoundError as NotFoundError
    from .errors import OutOfOrderError as OutOfOrderError
    from .errors import OverLimitError as OverLimitError
    from .errors import RefusedError as RefusedError
    from .errors import TidegateError as TidegateError
    from .errors import TimedOutError as TimedOutError
    from .errors import UnavailableError as UnavailableError
    from .errors import WorkerError as WorkerError
    from ._device import DeviceArray as DeviceArray
    from ._options import Optimizer as Optimizer
    from ._options import Pushed as Pushed
    from ._options import Schedule as Schedule
    from ._options import Segment as Segment
    from ._options import Uniform as Uniform
    from ._options import adagrad as adagrad
    from ._options import assign as assign
    from ._options import pushed as pushed
    from ._options import adam as adam
    from ._options import cosine_decay as cosine_decay
    from ._options import step_decay as step_decay
    from ._options import warm_up as warm_up
    from ._options import adamw as adamw
    from ._options import momentum as momentum
    from ._options import nesterov as nesterov
    from ._options import ftrl as ftrl
    from ._options import group_adagrad as group_adagrad
    from ._options import from_plugin as from_plugin
    from ._options import proximal as proximal
    from ._options import rowwise_adagrad as rowwise_adagrad
    from ._options import sgd as sgd
    from ._options import uniform as uniform
    from . import data as data
    from . import filters as filters
    from ._rows import RowTable as RowTable
    from ._run import Run as Run
    from ._session import Session as Session
    from ._session import await_place as await_place
    from ._session import session as session
    from ._state import State as State
    from ._table import Pending as Pending
    from ._table import Table as Table
    from ._view import View as View

# Where each public name is: what a program does not use is not imported. numpy alone takes longer to import than
# all of this.
_HOMES = {
    "_version": ["__version__"],
    "_cluster": ["JobResult", "Result", "launch", "spawn"],
    "errors": ["AlreadyExistsError", "CancelledError", "CorruptError", "InvalidArgumentError", "InvalidViewError",
               "IoError", "LaunchError", "NoSpaceError", "NotFiniteError", "NotFoundError", "OutOfOrderError",
               "OverLimitError", "RefusedError", "TidegateError", "TimedOutError", "UnavailableError", "WorkerError"],
    "_device": ["DeviceArray"],
    "_options": ["Optimizer", "Pushed", "Schedule", "Segment", "Uniform", "adagrad", "adam", "adamw", "assign",
                 "cosine_decay", "from_plugin", "ftrl", "group_adagrad", "momentum", "nesterov", "proximal", "pushed", "rowwise_adagrad", "sgd",
                 "step_decay", "uniform", "warm_up"],
    "_rows": ["RowTable"],
    "_run": ["Run"],
    "_session": ["Session", "await_place", "session"],
    "_state": ["State"],
    "_table": ["Pending", "Table"],
    "_view": ["View"],
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "AlreadyExistsError", "CancelledError", "CorruptError", "DeviceArray", "InvalidArgumentError",
    "InvalidViewError", "IoError", "JobResult", "LaunchError", "NoSpaceError", "NotFiniteError", "NotFoundError", "Optimizer",
    "OutOfOrderError", "OverLimitError", "Pending", "Pushed", "RefusedError", "Result", "RowTable", "Run", "Schedule",
    "Segment", "Session", "State", "Table", "TidegateError", "TimedOutError", "UnavailableError", "Uniform", "View", "WorkerError",
    "__version__", "adagrad", "adam", "adamw", "assign", "await_place", "cosine_decay", "from_plugin", "ftrl", "group_adagrad",
    "launch", "momentum", "nesterov", "proximal", "pushed", "rowwise_adagrad", "session", "sgd", "spawn", "step_decay",
    "uniform", "warm_up",
]


def __getattr__(name: str) -> Any:
    home = _HOME_OF.get(name)
    if name in ("data", "filters"):
        return importlib.import_module("." + name, __name__)
    if home is None:
        raise AttributeError(f"module 'tidegate' has no attribute {name!r}")
    value = getattr(importlib.import_module("." + home, __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
