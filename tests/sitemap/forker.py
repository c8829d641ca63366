"""Owns the process that a tracer attaches to: forks for each call, so that nothing is imported while it is watched.

    python forker.py FOLDER

reads commands as JSON from its standard input: [function of marked_sets, arguments, named arguments]. For each it
tells the number of a process that waits for a byte, what came of the call, and how the process ended. ``FOLDER`` is for
a first set, with which all is imported that is imported late.
"""

import ctypes
import json
import os
import sys

import marked_sets

_PR_SET_PTRACER = 0x59616D61  # lets a tracer in that is no ancestor, where the kernel (Yama) wants to be asked


def call(command: str) -> None:
    """Do one command when told to."""
    ctypes.CDLL(None).prctl(_PR_SET_PTRACER, ctypes.c_ulong(2**64 - 1), 0, 0, 0)
    say(str(os.getpid()))
    os.read(0, 1)
    try:
        name, args, options = json.loads(command)
        getattr(marked_sets, name)(*args, **options)
        say("done")
    except BaseException as error:  # noqa: BLE001 - it is told
        say(f"{type(error).__name__}: {error}".replace("\n", " "))
    os._exit(0)


def say(line: str) -> None:
    """Tell one line at once."""
    os.write(1, f"{line}\n".encode())


if __name__ == "__main__":
    marked_sets.keep(sys.argv[1], sys.argv[1] + "-kept", "new", 1)
    marked_sets.publish(sys.argv[1], "old", gzip=True)
    while line := os.read(0, 4096).decode():
        pid = os.fork()
        if pid == 0:
            call(line)
        say(f"ended {os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])}")
