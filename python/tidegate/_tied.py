"""Becomes a program that is ended when its parent dies: ``python _tied.py PARENT PROGRAM [ARGUMENT ...]``.

A notebook's kernel that is restarted by force, or a script that is killed, cannot end what it has launched. The parent
is the thread that starts this, which waits for it. A program of its own and no function between fork and exec, as these
are unsafe in a process with threads.
"""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1

if __name__ == "__main__":
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() == int(sys.argv[1]):  # else it died before the call
        os.execv(sys.argv[2], sys.argv[2:])
    sys.exit(1)
