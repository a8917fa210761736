"""The session of a worker."""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
import weakref
from typing import Any, Callable, Iterable, Iterator, Optional, Union

from . import _garbage, _native
from ._options import Optimizer, Segment, Uniform
from ._rows import RowTable, bytes_of, dim_of, row_options_of
from ._state import State
from ._table import Init, Shape, Table, options_of, shape_of
from .errors import OutOfOrderError, TidegateError


class Session:
    """The membership of this worker in its job; :func:`session` opens one.

    It belongs to the thread that opened it (:meth:`take_over` gives it to another), and to this process: in a process
    that was forked from it, as the workers of torch's DataLoader are, every use raises :class:`OutOfOrderError`, and
    the end of that process harms nothing.

    At the end of a ``with`` block, on whichever thread, :meth:`finish` is called, or :meth:`fail` with the exception
    that left the block.
    """

    def __init__(self, native: _native.Session) -> None:
        self._native = native
        self._device_calls = _native.DeviceCalls(native)
        self._row_calls = _native.RowCalls(native)
        self._tables: dict[str, Table] = {}
        self._row_tables: dict[str, RowTable] = {}
        #: Where tables are that are opened from now on; None: on the host.
        self.device: Optional[str] = None
        self._touched: set[Table] = set()  # tables with views, or pushed, in this clock
        self._finishes_at_exit = False
        self._before_end: list[Callable[[], None]] = []  # whoever has memory of the session's lets it go
        #: What this worker keeps; it outlives the process (:class:`State`).
        self.state = State(native)
        # Of use in messages, and after the end.
        self.job: str = native.job
        self.policy: str = native.policy
        self.reduce: str = native.reduce
        self.rank: int = native.rank
        self.size: int = native.size
        self.seed: int = native.seed
        self.incarnation: int = native.incarnation
        _watch_exit(self)

    @property
    def now(self) -> int:
        """This worker's clock: from 0, or from where it goes on in the place of a process that died."""
        return self._native.now()

    @property
    def is_open(self) -> bool:
        """Whether this process may still push, pull and end clocks."""
        return self._native.is_open and self._native.is_of_this_process

    @property
    def _can_finish(self) -> bool:
        return self._native.can_finish and self._native.is_of_this_process

    @property
    def _clocks_ended(self) -> bool:
        return self._can_finish and not self._native.is_open

    def table(self, name: str, shape: Shape, *, optimizer: Optional[Optimizer] = None,
              init: Init = None) -> Table:
        """Creates the table of that name, or attaches to it.

        The worker that comes first decides on shape and options; with others this raises InvalidArgumentError. A
        table that the YAML declares keeps the YAML's options where neither `optimizer` nor `init` is given. `init`:
        the value that all elements start with, :func:`tidegate.uniform`, or :func:`tidegate.pushed`. Blocks until the
        table can be used.
        """
        wanted = shape_of(name, shape)
        asked = (wanted, optimizer, init)
        known = self._tables.get(name)
        if known is not None and known._asked == asked and self.is_open:
            return known
        opened = self._native.open_table(name, list(wanted), options_of(name, optimizer, init))
        if known is not None:
            return known
        table = Table(self, name, asked, opened, self.device)
        self._tables[name] = table
        return table

    def rows(self, name: str, dim: int, *, optimizer: Optional[Optimizer] = None,
             init: Union[None, float, Uniform] = None, capacity: Optional[int] = None, parts: Optional[int] = None,
             admit_count: Optional[int] = None, admit_candidates: Optional[int] = None,
             evict_unseen: Optional[int] = None, evict_rows: Optional[int] = None,
             evict_by: Optional[str] = None, memory: Union[None, int, str] = None,
             segments: Iterable[Segment] = ()) -> RowTable:
        """Creates the table of rows of that name, or attaches to it: rows of `dim` float32 by 64-bit ids.

        The worker that comes first decides on the options; with others this raises InvalidArgumentError. A table that
        the YAML declares keeps the YAML's options where none is given. `optimizer`: :func:`tidegate.sgd`,
        :func:`tidegate.adagrad`, :func:`tidegate.rowwise_adagrad`, :func:`tidegate.adam`, :func:`tidegate.proximal`,
        :func:`tidegate.ftrl` or :func:`tidegate.group_adagrad`, which step a row when it is pushed. `init`: the value that all start with, or
        :func:`tidegate.uniform`; uniform(0.01) where it is not given. `capacity`: rows that there is room for
        (16777216). `parts`: into how many the rows are spread, by a hash of their ids (64).

        `admit_count`: steps with a push of its id that a row takes to be made (1); what was pushed before the last of them
        is not applied. `admit_candidates`: ids whose pushes are counted, at most (as many as rows). `evict_unseen`: a
        row that nobody has pushed for so many clocks is erased, and an id without one counted anew, in a step of its
        part up to a sixteenth of that time later. `evict_rows`: rows at most, no fewer than parts, in place of
        `capacity`; where a step leaves more in a part, which has its share, those above 15/16 of it are erased, by
        `evict_by`: "lru" (those pushed longest ago, as where it is not given), "lfu" (pushed least often) or "l2" (with
        the least sum of squares). An id whose row is erased begins anew when it is pushed again.

        `memory`: values and state that each shard keeps in memory, in bytes or as "4GiB": the rest lies in a file.

        `segments`: in place of `optimizer` and `init`, the columns of a row as up to 8 :class:`tidegate.Segment`, each
        with its own.

        Blocks until the table can be used.
        """
        numbers = {"capacity": capacity, "parts": parts, "admit_count": admit_count, "admit_candidates": admit_candidates,
                   "evict_unseen": evict_unseen, "evict_rows": evict_rows, "memory": bytes_of(name, memory)}
        segments = tuple(segments)
        asked = (dim, optimizer, init, evict_by, segments, *numbers.values())
        known = self._row_tables.get(name)
        if known is not None and known._asked == asked and self.is_open:
            return known
        opened = self._row_calls.open(name, dim_of(name, dim), row_options_of(name, optimizer, init, evict_by, segments,
                                                                              **numbers))
        if known is not None:
            return known
        table = RowTable(self._row_calls, name, asked, opened)
        self._row_tables[name] = table
        return table

    def use_device(self, device: str, *, stream: int = 0) -> None:
        """Has tables that are opened from now on lie on a device: ``"cuda:0"``, or ``"emulated:0"``, which needs no GPU.

        `stream`: the handle of the CUDA stream on which the program writes gradients and reads parameters, as
        ``torch.cuda.current_stream().cuda_stream``; 0 is the default stream. A push is of what all work has written
        that the stream was given before it, and what it is given after a pull finds the parameters. Called again with
        the same device it sets the stream. Raises InvalidArgumentError (no such device, another than before),
        NotFoundError (fewer GPUs than that), UnavailableError (what this machine or the package lacks), TidegateError.
        """
        self._device_calls.use(device, stream)
        self.device = device

    @property
    def tables(self) -> dict[str, Table]:
        """The tables that this session has opened, by name."""
        return dict(self._tables)

    def exchange(self, tables: Optional[Iterable[Table]] = None) -> None:
        """Makes one clock in one call: pushes these tables, ends the clock, and pulls them at the new one.

        All that this session has opened, unless given. The fastest way: chunks come back while others are on their
        way. A push that fails later is told by the next call.
        """
        used = list(self._tables.values()) if tables is None else list(tables)
        self._native.exchange([table._table for table in used])
        self._end_clock()

    def clock(self) -> None:
        """Ends this worker's clock. A table that was not pushed adds nothing to it."""
        self._native.clock()
        self._end_clock()

    def scale_learning_rate(self, factor: float) -> None:
        """Multiplies the learning rate of every table by `factor` in steps made with this worker's pushes from now on,
        beside what the table's schedule says.

        Where pushes of several workers make a step, the factor of the lowest rank among them counts, so all workers
        set the same. A process that takes the place of a dead one begins with 1: set what follows from ``now``.
        Raises InvalidArgumentError (negative, or not finite).
        """
        self._native.scale_learning_rate(factor)

    def report(self, *, clocks_total: int = 0, epoch: float = 0.0, loss: float = 0.0, samples: int = 0) -> None:
        """Sets what the launcher's live line shows of this worker; sent now and then. Does not wait."""
        self._native.report(clocks_total, epoch, loss, samples)

    def report_metric(self, name: str, value: float) -> None:
        """Puts a number into result.json under this name; the last value of a name counts."""
        self._native.report_metric(name, value)

    def finish(self) -> None:
        """Ends this worker's part of the job: waits for its pushes. Rank 0 also waits for the others, and hashes the
        parameters. Nothing may be used afterwards; a second call does nothing."""
        if not self._native.is_open:
            return
        self._let_go()
        if _finishes_later:
            self._native.end_clocks()
            _kept.append(self)
        else:
            self._native.finish()
        self._end()

    def fail(self, why: str) -> None:
        """Ends the job as failed, with this message."""
        self._let_go()
        self._native.fail(why)
        self._end()

    def take_over(self) -> None:
        """Gives the session to the calling thread. No other may be in a call of it."""
        self._native.take_over()

    @contextlib.contextmanager
    def _borrowed(self) -> Iterator[None]:
        """Lets the calling thread use the session meanwhile, while the thread that has it waits for this one."""
        self._native.borrow()
        try:
            yield
        finally:
            self._native.give_back()

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, kind: Any, error: Optional[BaseException], traceback: Any) -> None:
        if not self.is_open:
            return
        if error is None:
            self._native.take_over()  # JAX makes its callbacks on threads of its own
            self.finish()
            return
        try:
            self._native.take_over()
            self.fail(_text_of(error))
        except TidegateError as why:
            print(f"tidegate: the job was not told of the error below: {why}", file=sys.stderr)

    def _end_clock(self) -> None:
        for table in self._touched:
            table._end_clock("its clock has ended")
        self._touched.clear()

    def _let_go(self) -> None:
        while self._before_end:
            self._before_end.pop()()

    def _end(self) -> None:
        for table in self._tables.values():
            table._end_session()
        self._touched.clear()

    def __repr__(self) -> str:
        state = "" if self.is_open else ", ended"
        return f"<session of worker {self.rank} of {self.size}, job '{self.job}' ({self.policy}){state}>"


def await_place(*, copy: bool = True) -> None:
    """Waits, in a process that the launcher keeps as a spare, until it takes the place of a worker that has died.

    Returns at once in any other process, and when it is called again. :func:`session` does this first. A program
    that needs its rank before, as for ``torch.distributed.init_process_group``, calls it when all else is ready:
    a spare has RANK, LOCAL_RANK, TIDEGATE_RANK and TIDEGATE_INCARNATION in ``os.environ`` only afterwards.

    `copy`: this call may return in several processes, copies of this one (``os.fork``) that take places of their own,
    so that imports and data cost their time once. No copy is made of a process that has open files or, after a fork
    that tries it, other threads (OpenBLAS puts its own away). What is drawn at random before, as the state of
    ``numpy.random``, is the same in all copies. Raises CancelledError (the launcher has ended).
    """
    for stream in filter(None, (sys.stdout, sys.stderr)):
        stream.flush()  # what is in a buffer would be in that of every copy
    os.environ.update(_native.await_place(copy))


def session() -> Session:
    """Joins the job that the launcher has started this process for, and returns the session.

    Blocks until the cluster lets this worker in; in a spare, also until there is a place (:func:`await_place`). Raises InvalidArgumentError (this process was not started by
    ``tidegate launch`` or :func:`tidegate.spawn`), OutOfOrderError (this process has a session), UnavailableError,
    TimedOutError, RefusedError.
    """
    await_place()
    _garbage.watch()
    return Session(_native.Session.connect())


def _text_of(error: BaseException) -> str:
    """Returns what the job is told of an exception: its last line, and where it came from."""
    text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    where = error.__traceback__
    while where is not None and where.tb_next is not None:
        where = where.tb_next
    if where is not None:
        code = where.tb_frame.f_code
        text += f" ({os.path.basename(code.co_filename)}:{where.tb_lineno} in {code.co_name})"
    return text


def fail_job(error: BaseException) -> None:
    """Ends the job of this process as failed with this exception, unless its session has been ended."""
    opened = _open() if _open is not None else None
    try:
        if opened is None and _open is None:
            opened = session()
        if opened is not None and opened._can_finish:
            opened._native.take_over()
            opened.fail(_text_of(error))
    except TidegateError as why:
        print(f"tidegate: the job was not told of an error: {why}", file=sys.stderr)


_open: Optional["weakref.ref[Session]"] = None
_kept: list[Session] = []
# Whether finish() only ends the clocks: what the program returns is stored before the session has finished, because
# a process that dies after that is not replaced.
_finishes_later = False


def finish_later() -> None:
    """Has finish() of this process's session end its clocks, and finish_now() do the rest."""
    global _finishes_later
    _finishes_later = True


def finish_now() -> None:
    """Finishes the session of this process whose clocks have ended, if there is one."""
    known = _open() if _open is not None else None
    if known is not None and known._clocks_ended:
        known._native.take_over()
        known._native.finish()


def open_session() -> Optional[Session]:
    """Returns the session that this process has open, if any."""
    known = _open() if _open is not None else None
    return known if known is not None and known.is_open else None


def process_session() -> Session:
    """Returns the session that this process has open, or opens one that is finished when the program ends well."""
    known = open_session()
    if known is None:
        known = session()
        known._finishes_at_exit = True
        _kept.append(known)
    return known


def required_session() -> Session:
    """Returns the session that this process has open. Raises OutOfOrderError if it has none."""
    known = open_session()
    if known is None:
        raise OutOfOrderError("this process has no session: open one, as by init() of tidegate.torch")
    return known


def _watch_exit(session: Session) -> None:
    global _open
    if _open is None:
        atexit.register(_at_exit)
    _open = weakref.ref(session)


def _at_exit() -> None:
    """Tells the job why a program ends that still has a session; without a word it would count as dead."""
    session = _open() if _open is not None else None
    if session is None or not session._can_finish:
        return
    error = getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)
    try:
        session._native.take_over()
        if (session._finishes_at_exit or session._clocks_ended) and error is None:
            session._let_go()
            session._native.finish_at_exit()
            return
        session.fail(_text_of(error) if error is not None else
                     "the program ended without finish()" +
                     (f", at its clock {session.now}" if session.is_open else ""))
    except TidegateError as why:
        print(f"tidegate: the job was not told why this program ends: {why}", file=sys.stderr)
