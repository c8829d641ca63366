"""A private OpenSSH server on the loopback address, which lets the user of the tests in by a key."""

import getpass
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from ports import reserved_port

_CONF = """
Port {port}
ListenAddress 127.0.0.1
HostKey {run}/host
PidFile none
AuthorizedKeysFile {run}/user.pub
StrictModes no
UsePAM no
PermitRootLogin yes
PasswordAuthentication no
MaxStartups 100
Subsystem sftp internal-sftp
"""


@dataclass(frozen=True)
class Sshd:
    """Where it listens, the files of the keys, and who may sign in."""

    port: int
    known_hosts: Path
    key: Path
    user: str


@contextmanager
def sshd(run: Path) -> Iterator[Sshd]:
    """Run it; ``run`` is a folder of its own. Skips the test when it is not installed."""
    binary = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if binary is None:
        if os.environ.get("SITEATLAS_REQUIRE_ALL"):
            pytest.fail("sshd is not installed, and SITEATLAS_REQUIRE_ALL demands it")
        pytest.skip("sshd is not installed")
    for name in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", str(run / name)], check=True)
    if os.geteuid() == 0:  # the service makes it when it starts
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    port = reserved_port()
    (run / "conf").write_text(_CONF.format(port=port, run=run))
    (run / "known").write_text(f"[127.0.0.1]:{port} {(run / 'host.pub').read_text()}")
    command = [binary, "-D", "-f", str(run / "conf"), "-E", str(run / "log")]
    process = subprocess.Popen(command)
    try:
        _wait_for(port, process)
        yield Sshd(port, run / "known", run / "user", getpass.getuser())
    finally:
        process.terminate()
        process.wait(10)


def _wait_for(port: int, process: "subprocess.Popen[bytes]") -> None:
    for _ in range(500):
        if process.poll() is not None:
            raise RuntimeError("sshd ended at once")
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.01)
    raise RuntimeError("sshd does not answer")
