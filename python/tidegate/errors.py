"""What can go wrong. The classes mirror the codes of the C++ API (tidegate/status.hpp), with the same texts.

Each is a :class:`TidegateError`, and also the built-in exception that comes nearest to it, so that
``except ConnectionError`` or ``except ValueError`` work as expected.
"""

from __future__ import annotations


class TidegateError(Exception):
    """The base of all errors of Tidegate. ``code`` is the name of the C++ API's code."""

    code = "error"


class InvalidArgumentError(TidegateError, ValueError):
    """The caller's input is wrong; trying again does not help."""

    code = "invalid_argument"


class NotFoundError(TidegateError, LookupError):
    """What was asked for is not there."""

    code = "not_found"


class AlreadyExistsError(TidegateError):
    """What was to be made is there already."""

    code = "already_exists"


class OutOfOrderError(TidegateError, RuntimeError):
    """The call is right and its moment, process or thread is not."""

    code = "out_of_order"


class InvalidViewError(OutOfOrderError):
    """A view of a window was used after its time: the window may show other bytes by then."""


class UnavailableError(TidegateError, ConnectionError):
    """A peer or service is not there."""

    code = "unavailable"


class RefusedError(TidegateError):
    """A peer answered and said no."""

    code = "refused"


class TimedOutError(TidegateError, TimeoutError):
    """Something did not happen in time."""

    code = "timed_out"


class IoError(TidegateError, OSError):
    """The operating system failed."""

    code = "io_error"


class NotFiniteError(TidegateError, ArithmeticError):
    """A gradient has NaN or infinity; the message names the element."""

    code = "not_finite"


class OverLimitError(TidegateError):
    """A bound was reached."""

    code = "over_limit"


class CancelledError(TidegateError):
    """An earlier operation has failed, or the session is gone."""

    code = "cancelled"


class CorruptError(TidegateError):
    """Bytes that do not decode."""

    code = "corrupt"


class NoSpaceError(TidegateError, OSError):
    """A disk is full."""

    code = "no_space"


class LaunchError(TidegateError):
    """A cluster that was launched from here did not end as done.

    ``exit_code`` is that of ``tidegate launch``; ``result`` what the run folder says, or None.
    """

    code = "launch"

    def __init__(self, message: str, exit_code: int = 1, result: object = None) -> None:
        super().__init__(message)
        self.exit_code = exit_code
        self.result = result


class WorkerError(LaunchError):
    """A function that :func:`tidegate.spawn` ran has raised. ``rank`` and ``traceback`` say who and where."""

    code = "worker"

    def __init__(self, message: str, rank: int, traceback: str, exit_code: int = 1, result: object = None) -> None:
        super().__init__(message, exit_code, result)
        self.rank = rank
        self.traceback = traceback


_BY_CODE: dict[str, type[TidegateError]] = {
    kind.code: kind
    for kind in (InvalidArgumentError, NotFoundError, AlreadyExistsError, OutOfOrderError, UnavailableError,
                 RefusedError, TimedOutError, IoError, NotFiniteError, OverLimitError, CancelledError, CorruptError,
                 NoSpaceError)
}


def from_status(code: str, message: str) -> TidegateError:
    """Returns the exception of a status of the C++ API."""
    return _BY_CODE.get(code, TidegateError)(message)
