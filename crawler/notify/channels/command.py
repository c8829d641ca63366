"""The hook: runs the operator's command with the message on its standard input."""

import hashlib
import os
import shutil
import signal
from collections.abc import Iterable, Sequence
from contextlib import suppress
from subprocess import PIPE, STDOUT
from typing import Final

import anyio
from anyio.abc import ByteReceiveStream, ByteSendStream, Process

from crawler.config.secrets import plain_line, quote_message
from crawler.errors import UsageError
from crawler.notify.channels.message import notice_json
from crawler.notify.notice import Notice, Occasion, SendResult

_TEMPORARY_EXIT_CODE: Final = 75  # EX_TEMPFAIL of sysexits.h: the command asks to be run again later
_MAX_KEPT_OUTPUT: Final = 4_096  # last bytes of its output
_KILL_GRACE: Final = 5.0  # seconds between SIGTERM and SIGKILL
_PIPE_GRACE: Final = 0.5  # seconds to read on after its end, as its children may hold its output open


class CommandChannel:
    """Runs ``command``, its program and arguments, in its own process group, for at most ``timeout`` seconds.

    It gets the JSON of :func:`crawler.notify.channels.message.notice_json` and the variables SITEATLAS_HOOK_SITE,
    SITEATLAS_HOOK_OCCASION and SITEATLAS_HOOK_SITEMAP_URL. Exit code 0 accepts the message; 75 defers it. Implements
    :class:`crawler.notify.notice.MessageChannel`. Raises UsageError when there is no such command.
    """

    def __init__(
        self, command: Sequence[str], on: Iterable[Occasion], timeout: float = 300.0, grace: float = _KILL_GRACE
    ) -> None:
        program = shutil.which(command[0]) if command and command[0] else None
        if program is None:
            name = command[0] if command else ""
            raise UsageError(
                f"hook.command: {name!r} is not a program that can be run. Give the full path of the program"
            )
        if any("\0" in word for word in command):
            raise UsageError("hook.command: a word of the command must not contain a NUL character")
        self.key = f"hook {hashlib.sha256(chr(0).join(command).encode('utf-8', 'surrogateescape')).hexdigest()[:8]}"
        self.occasions = frozenset(on)
        self._command = [program, *command[1:]]
        self._name = os.path.basename(program)  # noqa: PTH119 - a word
        self._timeout = timeout
        self._grace = grace

    async def send(self, notice: Notice) -> SendResult:
        """See :class:`crawler.notify.notice.MessageChannel`."""
        values = {"SITE": notice.site, "OCCASION": notice.occasion.value, "SITEMAP_URL": notice.sitemap_url}
        variables = {f"SITEATLAS_HOOK_{name}": plain_line(value) for name, value in values.items()}
        try:
            process = await anyio.open_process(
                self._command,
                stdin=PIPE,
                stdout=PIPE,
                stderr=STDOUT,
                env={**os.environ, **variables},
                start_new_session=True,
            )
        except OSError as error:
            reason = error.strerror or type(error).__name__
            return SendResult.deferred(f"the hook {self._name} could not be started: {reason}")
        tail = bytearray()
        try:
            exit_code = await self._run(process, notice_json(notice, self.key), tail)
        finally:
            with anyio.CancelScope(shield=True):
                await self._end(process)
        return self._result_of(exit_code, quote_message(_last_line(bytes(tail))))

    async def _run(self, process: Process, message: bytes, tail: bytearray) -> int | None:
        """Its exit code, None when its time was up."""
        exit_code = None
        with anyio.move_on_after(self._timeout):
            async with anyio.create_task_group() as tasks:
                assert process.stdin is not None  # noqa: S101 - opened as pipes
                assert process.stdout is not None  # noqa: S101
                tasks.start_soon(_write_message, process.stdin, message)
                tasks.start_soon(_keep_tail, process.stdout, tail)
                exit_code = await process.wait()
                tasks.cancel_scope.deadline = anyio.current_time() + _PIPE_GRACE
        return exit_code

    async def _end(self, process: Process) -> None:
        """Stop a command that is still running, with its children."""
        if process.returncode is None:
            _signal(process.pid, signal.SIGTERM)
            with anyio.move_on_after(self._grace):
                await process.wait()
            _signal(process.pid, signal.SIGKILL)
        await process.aclose()

    def _result_of(self, code: int | None, last_line: str) -> SendResult:
        detail = f": {last_line}" if last_line else ""
        if code is None:
            return SendResult.deferred(
                f"the hook {self._name} took more than {self._timeout:g} seconds and was stopped{detail}"
            )
        if code == 0:
            return SendResult.accepted(f"the hook {self._name} ran{detail}")
        if code == _TEMPORARY_EXIT_CODE:
            return SendResult.deferred(f"the hook {self._name} requests another attempt later (exit code 75){detail}")
        ending = f"ended with exit code {code}" if code > 0 else f"was stopped by signal {-code}"
        return SendResult.refused(f"the hook {self._name} {ending}{detail}")


async def _write_message(pipe: ByteSendStream, message: bytes) -> None:
    with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):  # the command need not read it
        async with pipe:
            await pipe.send(message)


async def _keep_tail(pipe: ByteReceiveStream, tail: bytearray) -> None:
    with suppress(anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
        while True:
            tail += await pipe.receive()
            del tail[:-_MAX_KEPT_OUTPUT]


def _signal(group: int, number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def _last_line(output: bytes) -> str:
    lines = [line for line in output.decode("utf-8", "replace").splitlines() if line.strip()]
    return lines[-1] if lines else ""
