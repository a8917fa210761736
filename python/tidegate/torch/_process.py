"""The session of this process, for interfaces that name none."""

from __future__ import annotations

from typing import Optional

from .. import _session
from .._session import Session
from ..errors import OutOfOrderError


def open_session() -> Optional[Session]:
    """Returns the session that this process has open, if any."""
    known = _session._open() if _session._open is not None else None
    return known if known is not None and known.is_open else None


def session_of_process() -> Session:
    """Returns the session that this process has open, or opens one that is finished when the program ends well."""
    known = open_session()
    if known is None:
        known = _session.session()
        known._finishes_at_exit = True
        _session.keep(known)
    return known


def required_session() -> Session:
    """Returns the session that this process has open. Raises OutOfOrderError if it has none."""
    known = open_session()
    if known is None:
        raise OutOfOrderError("this process has no session: call init() first")
    return known
