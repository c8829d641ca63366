"""Hooks: real commands that read, fail, hang, fork, shout and vanish."""

import json
import os
import signal
from pathlib import Path

import anyio
import pytest
from msgspec.structs import replace
from notices import SAMPLE_NOTICES

from crawler.errors import UsageError
from crawler.notify.channels.command import CommandChannel
from crawler.notify.channels.message import notice_json
from crawler.notify.notice import Occasion, SendResult, SendStatus


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return request.param


def sh(script: str, timeout: float = 10.0, grace: float = 0.1) -> CommandChannel:
    return CommandChannel(["/bin/sh", "-c", script, "hook"], [Occasion.CHANGES], timeout, grace)


async def ran(script: str, timeout: float = 10.0) -> SendResult:
    with anyio.fail_after(10):
        return await sh(script, timeout).send(SAMPLE_NOTICES[0])


@pytest.mark.anyio
async def test_ours_a_hook_gets_the_message_and_a_few_variables(tmp_path: Path) -> None:
    out = tmp_path / "message"
    script = f'cat > {out}; echo "$SITEATLAS_HOOK_SITE $SITEATLAS_HOOK_OCCASION $SITEATLAS_HOOK_SITEMAP_URL" $0'
    hook = sh(script)
    answer = await hook.send(replace(SAMPLE_NOTICES[0], site="a\nb"))
    assert answer.reception is SendStatus.ACCEPTED
    assert answer.message == "the hook sh ran: a b changes https://www.example.com/sitemap.xml hook"
    assert out.read_bytes() == notice_json(replace(SAMPLE_NOTICES[0], site="a\nb"), hook.key)
    assert json.loads(out.read_bytes())["site"] == "a\nb"
    assert hook.occasions == {Occasion.CHANGES}


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("script", "reception", "said"),
    [
        ("true", SendStatus.ACCEPTED, "the hook sh ran"),
        ("exec 0<&-; exit 0", SendStatus.ACCEPTED, "the hook sh ran"),
        ("echo no >&2; exit 75", SendStatus.DEFERRED, "the hook sh requests another attempt later (exit code 75): no"),
        (
            "echo one; echo 'two\t\033[2J'; echo; exit 3",
            SendStatus.REFUSED,
            "the hook sh ended with exit code 3: two �[2J",
        ),
        ("kill -9 $$", SendStatus.REFUSED, "the hook sh was stopped by signal 9"),
        ("yes | head -c 3000000; echo; echo last", SendStatus.ACCEPTED, "the hook sh ran: last"),
        ("head -c 100000 /dev/zero | tr '\\0' x; exit 1", SendStatus.REFUSED, f"code 1: {'x' * 199}…"),
        ("printf '\\377\\376'", SendStatus.ACCEPTED, "the hook sh ran: ��"),
    ],
)
async def test_ours_what_a_hook_says_by_its_end(script: str, reception: SendStatus, said: str) -> None:
    answer = await ran(script)
    assert answer.reception is reception
    assert answer.message.endswith(said)


@pytest.mark.anyio
async def test_ours_a_long_message_to_a_hook_that_does_not_read_it_is_no_trouble() -> None:
    many = tuple(replace(SAMPLE_NOTICES[0].changes[0], reason="x" * 999) for _ in range(500))
    with anyio.fail_after(10):
        assert (await sh("exit 0").send(replace(SAMPLE_NOTICES[0], changes=many))).reception is SendStatus.ACCEPTED
        counted = await sh("wc -c").send(replace(SAMPLE_NOTICES[0], changes=many))
    assert int(counted.message.rpartition(" ")[2]) > 500_000


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


async def gone(pid: int) -> bool:
    for _ in range(100):
        if not alive(pid):
            return True
        await anyio.sleep(0.02)
    return False


@pytest.mark.anyio
@pytest.mark.parametrize("stubborn", ["", "trap '' TERM;"])
async def test_ours_a_hook_that_hangs_is_ended_with_all_that_it_began(tmp_path: Path, stubborn: str) -> None:
    pids = tmp_path / "pids"
    script = f'{stubborn} sh -c "{stubborn} sleep 60; true" & echo $$ $! > {pids}; echo waiting; sleep 60; sleep 60'
    answer = await ran(script, 0.3)
    assert answer.reception is SendStatus.DEFERRED
    assert answer.message == "the hook sh took more than 0.3 seconds and was stopped: waiting"
    for pid in map(int, pids.read_text().split()):
        assert await gone(pid)


@pytest.mark.anyio
async def test_ours_a_hook_may_leave_something_behind_that_holds_its_output() -> None:
    answer = await ran("sleep 60 & echo $!")
    left = int(answer.message.removeprefix("the hook sh ran: "))
    os.kill(left, signal.SIGKILL)  # it lives still: nobody waited for it


@pytest.mark.anyio
async def test_ours_a_hook_ends_when_we_are_asked_to_stop(tmp_path: Path) -> None:
    file = tmp_path / "pid"
    with anyio.move_on_after(0.25):
        await sh(f"echo $$ > {file}; sleep 60; true").send(SAMPLE_NOTICES[0])
    assert await gone(int(file.read_text()))


def test_ours_a_command_that_is_none_is_told_before(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.write_text("no program")
    for command in ([], [""], ["no-such-program-x"], [str(plain)], [str(tmp_path)]):
        with pytest.raises(UsageError, match=r"hook\.command"):
            CommandChannel(command, [])
    with pytest.raises(UsageError, match="NUL"):
        CommandChannel(["sh", "\0"], [])
    assert CommandChannel(["sh"], []).key != CommandChannel(["sh", "-c"], []).key


@pytest.mark.anyio
async def test_ours_a_command_that_cannot_be_started_any_more_is_tried_again(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_text("#!/no/such/interpreter\n")
    program.chmod(0o755)
    answer = await CommandChannel([str(program)], []).send(SAMPLE_NOTICES[0])
    assert answer.reception is SendStatus.DEFERRED
    assert answer.message == f"the hook program could not be started: {os.strerror(2)}"
