"""The sandbox of a process that reads outsiders' bytes: no secrets, no new files, no network, no privileges.

Such a process needs two pipes and memory, some of it shared with its parent, which reads nothing there
(:class:`crawler.parse.protocol.SharedBodies`). Three layers take everything else away, and none needs another program:

* A bare environment (:func:`crawler.parse.protocol.bare_environment`), because credentials often are in it.
* Limits of POSIX: with RLIMIT_NOFILE 0 the process can open no file, no directory and no socket.
* On Linux: no new privileges, no capabilities, and a Landlock domain without rights
  (https://docs.kernel.org/userspace-api/landlock.html), which also covers calls that need no open file: rename, remove,
  create, run. A system that lacks a part keeps the others, and :func:`missing_protection` names the part.

The Python packages for Landlock and seccomp are releases for developers, or need the C library libseccomp; ctypes needs
neither. What remains open: metadata of files by path (``stat``, ``chmod``).
"""

import ctypes
import os
import resource
import sys
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from importlib import import_module
from importlib.abc import InspectLoader
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import find_spec
from types import CodeType
from typing import Final

_MAX_CAPABILITY: Final = 63

# <linux/prctl.h>
_PR_CAPBSET_DROP: Final = 24
_PR_SET_NO_NEW_PRIVS: Final = 38
_PR_CAP_AMBIENT: Final = (47, 4)  # with PR_CAP_AMBIENT_CLEAR_ALL
_CAPABILITY_VERSION: Final = 0x20080522  # _LINUX_CAPABILITY_VERSION_3 of <linux/capability.h>

# <linux/landlock.h>. The numbers of these system calls are the same on all architectures of Linux but Alpha.
_CREATE_RULESET: Final = 444
_RESTRICT_SELF: Final = 446
_QUERY_VERSION: Final = 1
_FILE_RIGHTS: Final = {1: 13, 2: 14, 3: 15, 5: 16}  # by the version of Landlock that has them: the number of rights
_NETWORK_RIGHTS: Final = 2  # since version 4: to bind and to connect TCP sockets
_SCOPES: Final = 2  # since version 6: abstract UNIX sockets and signals


@cache
def missing_protection() -> str:
    """What this system lacks of the sandbox, as a sentence; "" on a system that has everything."""
    if sys.platform != "linux":
        return "parser processes have no Landlock sandbox, because it needs Linux; they still cannot open files"
    version = _landlock_version()
    if not version:
        return (
            "parser processes have no Landlock sandbox, because this kernel does not offer it (Linux 5.13 and later "
            "do); they still cannot open files"
        )
    return ""


def lock_down(modules: Iterable[str] = ()) -> None:
    """Take files, network and privileges from this process for good. What the system lacks is left out.

    ``modules`` can be imported afterwards too: their code is read now.
    """
    sys.meta_path.insert(0, _ModulesInMemory(modules))
    if sys.platform == "linux":
        _drop_privileges()
        _enter_landlock()
    for limit in (resource.RLIMIT_CORE, resource.RLIMIT_NOFILE):
        resource.setrlimit(limit, (0, 0))


class _ModulesInMemory(InspectLoader):
    """Imports modules whose code was read before. Few documents need them, and to run them all takes 30 ms."""

    def __init__(self, names: Iterable[str]) -> None:
        self._code: dict[str, CodeType | None] = {}
        for name in names:
            spec = None if name in sys.modules else find_spec(name)
            if spec and isinstance(spec.loader, SourceFileLoader):
                self._code[name] = spec.loader.get_code(name)
            elif spec:
                import_module(name)  # of a shared library

    def find_spec(self, name: str, *_: object) -> ModuleSpec | None:
        """How to import a module, None for one that is not in memory."""
        return ModuleSpec(name, self) if name in self._code else None

    def get_code(self, fullname: str) -> CodeType | None:
        """The code of a module."""
        return self._code[fullname]

    def get_source(self, fullname: str) -> None:
        """The source is not kept."""


def _drop_privileges() -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    with suppress(AttributeError):
        libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        libc.prctl(*_PR_CAP_AMBIENT, 0, 0, 0)
        for capability in range(_MAX_CAPABILITY + 1):
            if libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0):
                break  # this account has none to drop, or that was the last one
        header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION, 0)
        libc.capset(header, (ctypes.c_uint32 * 6)())


def _landlock_version() -> int:
    """The version of Landlock that the kernel has, 0 without it."""
    return max(0, int(ctypes.CDLL(None).syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _QUERY_VERSION)))


def _enter_landlock() -> None:
    """Enter a domain that handles all rights that the kernel knows, and grants none."""
    version = _landlock_version()
    if not version:
        return
    rights = max(count for since, count in _FILE_RIGHTS.items() if since <= version)
    handled = [(1 << rights) - 1]
    handled += [(1 << _NETWORK_RIGHTS) - 1] if version >= 4 else []
    handled += [(1 << _SCOPES) - 1] if version >= 6 else []
    ruleset = (ctypes.c_uint64 * len(handled))(*handled)
    libc = ctypes.CDLL(None)
    descriptor = libc.syscall(_CREATE_RULESET, ruleset, ctypes.c_size_t(ctypes.sizeof(ruleset)), 0)
    if descriptor >= 0:
        libc.syscall(_RESTRICT_SELF, descriptor, 0)
        os.close(descriptor)
