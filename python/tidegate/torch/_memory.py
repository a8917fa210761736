"""Memory of gradients, which torch frees and allocates in every step."""

from __future__ import annotations

import ctypes
import os

# Of malloc.h.
_M_TRIM_THRESHOLD = -1
_M_MMAP_THRESHOLD = -3
_BLOCK_BYTES = 1 << 30  # blocks up to this stay
_KEPT_BYTES = (1 << 31) - 1

_SETTINGS_OF_USERS = ("MALLOC_MMAP_THRESHOLD_", "MALLOC_MMAP_MAX_", "MALLOC_TRIM_THRESHOLD_", "GLIBC_TUNABLES")


def keep_freed_memory() -> None:
    """Has malloc keep large blocks that are freed, instead of giving them back to the kernel.

    glibc maps blocks from 32 MiB on at the most anew each time, and the kernel clears each page of them: as much memory
    traffic as a gradient's own. Does nothing where the user has set malloc up by the environment, or where there is
    another libc.
    """
    if any(name in os.environ for name in _SETTINGS_OF_USERS):
        return
    libc = ctypes.CDLL(None)
    if hasattr(libc, "mallopt"):
        libc.mallopt(_M_MMAP_THRESHOLD, _BLOCK_BYTES)
        libc.mallopt(_M_TRIM_THRESHOLD, _KEPT_BYTES)
