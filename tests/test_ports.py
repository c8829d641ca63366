"""The next port, when one of several addresses has lost it to somebody else."""

import socket
from contextlib import ExitStack

import pytest
from ports import ATTEMPTS, at_one_port, reserved_port

HOST = "127.0.0.1"


def test_ours_a_port_that_is_taken_at_the_second_address_is_left_for_another() -> None:
    opened: list[socket.socket] = []

    def pair(stack: ExitStack) -> int:
        first, second = (stack.enter_context(socket.socket()) for _ in range(2))
        opened.append(first)
        first.bind((HOST, 0))
        port = int(first.getsockname()[1])
        if len(opened) < 3:
            stack.enter_context(socket.socket()).bind(("127.0.0.2", port))
        second.bind(("127.0.0.2", port))
        return port

    with at_one_port(pair) as port:
        assert [each.fileno() == -1 for each in opened] == [True, True, False]
        assert opened[-1].getsockname() == (HOST, port)
    assert opened[-1].fileno() == -1


def test_ours_other_failures_and_endless_ones_are_raised() -> None:
    tries: list[int] = []

    def taken(_: ExitStack) -> None:
        tries.append(1)
        with socket.socket() as first, socket.socket() as second:
            first.bind((HOST, 0))
            second.bind(first.getsockname())

    with pytest.raises(OSError, match="in use"), at_one_port(taken):
        raise AssertionError
    assert len(tries) == ATTEMPTS
    with pytest.raises(OSError, match="assign"), at_one_port(lambda _: socket.create_server(("192.0.2.1", 0))):
        raise AssertionError


def test_ours_a_reserved_port_is_none_that_linux_hands_out_by_default() -> None:
    ports = {reserved_port() for _ in range(20)}
    assert len(ports) > 10
    assert all(1_023 < port < 32_768 for port in ports)  # a machine may have another range
    with socket.create_server((HOST, reserved_port())) as server:
        assert server.getsockname()[0] == HOST
