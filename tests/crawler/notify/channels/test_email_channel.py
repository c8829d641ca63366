"""E-mail through a real SMTP server: TLS and logins, refusals, servers that misbehave, and texts that try to."""

import json
import socket
from base64 import b64encode
from email import message_from_bytes
from email.policy import default
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Literal

import anyio
import pytest
from doubles_mail import mailbox
from hostile import Certificates, HostileServer, Step, Wire, drip, fin, repeat, rst, send, sleep
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from notices import SAMPLE_NOTICES

from crawler.audit.summary import NewFinding
from crawler.errors import UsageError
from crawler.model import Url
from crawler.notify.channels.email import EmailChannel, SmtpServer, parse_server
from crawler.notify.channels.message import delivery_id, notice_json
from crawler.notify.notice import Effect, Notice, Occasion, SendResult, SendStatus

CHANGED, TROUBLE, RECOVERY, FINDINGS, TEST = SAMPLE_NOTICES
assert FINDINGS.audit
AUDITED = FINDINGS.audit
ANN, BOB = "ann@example.com", "bob@example.com"
TO = (f"Ann Other <{ANN}>", BOB)
ALL = tuple(Occasion)
ANY = EmailChannel(parse_server("localhost", "none"), TO, ALL)


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates.make(tmp_path_factory.mktemp("tls"))


@pytest.fixture(autouse=True)
def names(monkeypatch: pytest.MonkeyPatch) -> None:
    """The name of this machine may take seconds to be looked up."""
    monkeypatch.setattr(socket, "getfqdn", lambda name="": "atlas.example")


def plain(address: str) -> SmtpServer:
    return parse_server(address, "none")


async def sent(
    to: SmtpServer, notice: Notice = CHANGED, recipients: tuple[str, ...] = TO, timeout: float = 10.0
) -> SendResult:
    with anyio.fail_after(15):
        return await EmailChannel(to, recipients, ALL, "Atlas <atlas@example.com>", timeout=timeout).send(notice)


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", [("asyncio", {"use_uvloop": use}) for use in (False, True)])
async def test_rfc5322_a_message_arrives_with_all_that_it_needs() -> None:
    with mailbox() as box:
        channel = EmailChannel(plain(box.address), TO, ALL)
        answers = [await channel.send(CHANGED), await channel.send(CHANGED)]
    assert [answer.reception for answer in answers] == [SendStatus.ACCEPTED] * 2
    assert answers[0].message == f"the mail server {box.address} accepted the message"
    first, second = box.messages
    assert box.envelopes[0].mail_from == "siteatlas@example.com"
    assert box.envelopes[0].rcpt_tos == ["ann@example.com", "bob@example.com"]
    assert first["From"] == "siteatlas@example.com"
    assert first["To"] == "Ann Other <ann@example.com>, bob@example.com"
    assert first["Auto-Submitted"] == "auto-generated"
    assert first["Message-ID"] == second["Message-ID"] == f"<{delivery_id(CHANGED, 'email')}@example.com>"
    assert parsedate_to_datetime(first["Date"]).tzinfo is not None
    assert first["Subject"] == (
        "example: 1 added, 1 changed, 1 removed, 1 moved, 1 deindexed; 120 pages are listed now"
    )
    assert first.get_content_type() == "text/plain"
    assert "\nadded (1)\n  https://www.example.com/added\n    a sample\n" in first.get_content()


@pytest.mark.anyio
async def test_ours_trouble_and_recovery_have_texts_of_their_own() -> None:
    with mailbox() as box:
        await sent(plain(box.address), TROUBLE)
        await sent(plain(box.address), RECOVERY)
        await sent(plain(box.address), replace(CHANGED, counts=replace(CHANGED.counts, added=99)))
        await sent(plain(box.address), TEST)
        await sent(plain(box.address), replace(CHANGED, after=0, changes=()))
        await sent(plain(box.address), FINDINGS)
        doubted = replace(AUDITED, before=None, groups=[], first=[], verdict="inconclusive", why="a page failed")
        await sent(
            plain(box.address), replace(FINDINGS, message=f"audit: {doubted.sentence}", audit=doubted, report="")
        )
    trouble, recovery, more, test, first, audited, doubtful = box.messages
    assert trouble["Subject"] == "example: problem: publish refused: a sample"
    assert "with exit code 3:\n\n  publish refused: a sample\n" in trouble.get_content()
    assert recovery["Subject"] == "example: resolved: a run succeeded again; published: a sample"
    assert "succeeded again" in recovery.get_content()
    assert "added (99)\n" in more.get_content()
    assert "98 more changes are not listed here" in more.get_content()
    box.envelopes[3].content.decode("ascii")  # not every server takes more than that
    assert test["Subject"] == "example: this is a test message: no event occurred"
    assert "succeeded" not in test.get_content()
    assert "no action is needed" in test.get_content()
    assert first["Subject"] == "example: the whole sitemap is new: 120 pages are listed"
    assert "added" not in first.get_content()
    assert "not listed here" not in first.get_content()
    assert audited["Subject"] == "example: audit: 2 findings (2 warnings), 1 new, 1 resolved"
    assert "Orphans: 2, 1 new, 1 resolved\n" in audited.get_content()
    assert (
        "warning orphan.sitemap: In the sitemap, but not linked\n  https://www.example.com/lost\n"
        in audited.get_content()
    )
    assert "Report:  /srv/audit/audit.html\n" in audited.get_content()
    assert "inconclusive about orphan pages: a page failed\n" in doubtful.get_content()
    assert "The first audit of https://www.example.com/" in doubtful.get_content()
    assert not {"new", "resolved", "Report:"} & set(doubtful.get_content().split())


@pytest.mark.anyio
async def test_ours_trouble_says_what_became_of_the_sitemap_and_its_subject_ends_with_a_word() -> None:
    words = " ".join(f"word{number}" for number in range(60))
    with mailbox() as box:
        await sent(plain(box.address), replace(TROUBLE, effect=Effect.HELD, message=words))
        await sent(plain(box.address), replace(TROUBLE, effect=Effect.KEPT, pages=31))
    held, kept = box.messages
    *subject, last = held["Subject"].split()
    assert (last, set(subject) - {"example:", "problem:"} <= set(words.split())) == ("...", True)
    assert "published the sitemap, but held some pages, with exit code 3" in held.get_content()
    assert "failed" not in held.get_content().partition(words)[0]
    assert "Nothing was published. The earlier sitemap stays: 31 pages." in kept.get_content()


@pytest.mark.anyio
async def test_ours_no_text_becomes_a_header_a_recipient_or_another_message() -> None:
    evil = "x\r\nBcc: eve@example.com\r\n\r\n.\r\nQUIT\r\n\x1b[2J\u202e\u2028Bcc: eve@example.com"
    long = "é" * 5_000
    change = replace(CHANGED.changes[0], url=Url(f"https://e.example/{evil}"), target=evil, reason=f".\n.{evil}{long}")
    new = [NewFinding(rule="orphan.log", severity=evil, title=evil, url=evil, sentence=f".\n.{evil}{long}")]
    audit = replace(AUDITED, verdict="inconclusive", why=evil, first=new)
    notice = replace(
        CHANGED, site=evil, url=Url(evil), changes=(change,), message=evil, at=evil, audit=audit, report=evil
    )
    with mailbox() as box:
        for occasion in Occasion:
            await sent(plain(box.address), replace(notice, occasion=occasion))
    assert len(box.messages) == len(Occasion)
    for envelope, message in zip(box.envelopes, box.messages, strict=True):
        assert envelope.rcpt_tos == ["ann@example.com", "bob@example.com"]
        assert message["Bcc"] is None
        assert not message.defects
        assert len(message["Subject"]) <= 200
        assert message["Subject"].isprintable()
        assert max(map(len, envelope.content.splitlines())) < 998
        assert "\x1b" not in message.get_content()
        assert "\u202e" not in message.get_content()
        assert not [line for line in message.get_content().splitlines() if line.startswith((".", "Bcc", "QUIT"))]
    for number in (0, list(Occasion).index(Occasion.FINDINGS)):
        assert long in box.messages[number].get_content().replace("\n", "")


@given(*[st.text(st.characters())] * 3)  # also halves of characters
@settings(max_examples=25)
def test_rfc5322_any_text_makes_a_message_of_the_same_form(site: str, told: str, reason: str) -> None:
    change = replace(CHANGED.changes[0], reason=reason)
    for notice in (replace(CHANGED, site=site, changes=(change,)), replace(TROUBLE, site=site, message=told)):
        read = message_from_bytes(ANY.build_message(notice).as_bytes(), policy=default)
        assert read.keys() == [
            *("From", "To", "Subject", "Message-ID", "Auto-Submitted"),
            *("Content-Type", "Content-Transfer-Encoding", "MIME-Version"),
        ]
        assert not read.defects
        assert json.loads(notice_json(notice, "k"))["pages"] == 120


@pytest.mark.anyio
@pytest.mark.parametrize("security", ["starttls", "tls"])
async def test_rfc3207_a_login_is_sent_over_tls(certificates: Certificates, security: str) -> None:
    login = (b"ann", b"p:w-secret")
    with mailbox(**{security: certificates.good}, login=login) as box:
        secured: Literal["starttls", "tls"] = "tls" if security == "tls" else "starttls"
        good = parse_server(box.address, secured, "ann:p:w-secret", certificates.ca_file)
        assert (await sent(good)).reception is SendStatus.ACCEPTED
        wrong = await sent(parse_server(box.address, secured, "ann:not-secret", certificates.ca_file))
        assert wrong.reception is SendStatus.REFUSED
        assert "535" in wrong.message
        without = await sent(parse_server(box.address, secured, "", certificates.ca_file))
        assert without.reception is SendStatus.REFUSED
        assert "530" in without.message
        stranger = await sent(parse_server(box.address, secured, "ann:p:w-secret"))
        assert stranger.reception is SendStatus.DEFERRED
        assert "has a bad certificate" in stranger.message
    assert len(box.envelopes) == 1
    assert box.secured == [security == "starttls"]  # of TLS from the start it does not know
    assert set(box.logins) == {login, (b"ann", b"not-secret")}
    for text in (wrong.message, without.message, stranger.message, repr(good), str(good)):
        assert "secret" not in text
        assert b64encode(b"not-secret").decode() not in text
    assert "*** *** is wrong" in wrong.message


@pytest.mark.anyio
async def test_rfc3207_nothing_is_sent_in_the_clear_when_starttls_was_asked_for(certificates: Certificates) -> None:
    with mailbox() as box:
        answer = await sent(parse_server(box.address, "starttls", "", certificates.ca_file))
    assert answer.reception is SendStatus.REFUSED
    assert "STARTTLS" in answer.message
    assert box.envelopes == []
    with pytest.raises(UsageError, match="over an unencrypted connection"):
        parse_server("localhost", "none", "ann:s3cret-thing")


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("refusals", "sender", "data", "reception", "words"),
    [
        (
            {"bob@example.com": "550 no\x1b such"},
            "",
            "",
            SendStatus.ACCEPTED,
            "but not for all: bob@example.com: 550 no",
        ),
        (
            {"bob@example.com": "451 wait", "ann@example.com": "550 no"},
            "",
            "",
            SendStatus.DEFERRED,
            "rejected all recipients",
        ),
        (
            {"bob@example.com": "550 x", "ann@example.com": "553 no"},
            "",
            "",
            SendStatus.REFUSED,
            "ann@example.com: 553 no",
        ),
        ({}, "451 busy", "", SendStatus.DEFERRED, "451 busy"),
        ({}, "553 who?", "", SendStatus.REFUSED, "553 who?"),
        ({}, "", "452 full", SendStatus.DEFERRED, "452 full"),
        ({}, "", "554 spam", SendStatus.REFUSED, "554 spam"),
        ({}, "", "421 going down", SendStatus.DEFERRED, "421 going down"),
    ],
)
async def test_rfc5321_four_is_later_and_five_is_never(
    refusals: dict[str, str], sender: str, data: str, reception: SendStatus, words: str
) -> None:
    with mailbox() as box:
        box.refusals, box.sender, box.data = refusals, sender, data
        answer = await sent(plain(box.address))
    assert answer.reception is reception
    assert words in answer.message
    assert answer.message.isprintable()
    assert len(box.envelopes) == (reception is SendStatus.ACCEPTED)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("steps", "words"),
    [
        ((rst(),), "closed the connection"),
        ((fin(),), "closed the connection"),
        ((send(b"HTTP/1.1 400 Bad Request\r\n\r\n"), fin()), "does not speak SMTP"),
        ((send(b"421 not now\r\n"), fin()), "421 not now"),
        ((repeat(b"220-" + b"x" * 900 + b"\r\n", 9_999),), "does not speak SMTP"),
        ((send(b"220 " + b"x" * 20_000), sleep(9)), "within 0.25 seconds"),
        ((send(b"\xff\xfe\x00\r\n"), sleep(9)), "does not speak SMTP"),
        ((sleep(9),), "within 0.25 seconds"),
        ((drip(b"220-hello there\r\n" * 99, 0.05),), "within 0.25 seconds"),
        ((send(b"220 hello\r\n250-ok\r\n"), sleep(9)), "within 0.25 seconds"),
    ],
)
async def test_ours_a_mail_server_that_misbehaves_holds_nobody_up(steps: tuple[Step, ...], words: str) -> None:
    with HostileServer() as hostile:
        hostile.greet(*steps)
        answer = await sent(plain(f"127.0.0.1:{hostile.port}"), timeout=0.25)
        assert words in answer.message
        assert answer.reception is SendStatus.DEFERRED
        assert answer.message.isprintable()
        with anyio.fail_after(0.9):
            while hostile.open_connections:  # noqa: ASYNC110 - the server lives on another thread
                await anyio.sleep(0.02)


@pytest.mark.anyio
async def test_rfc5321_what_was_taken_stays_taken_when_the_goodbye_is_not_answered() -> None:
    async def take(wire: Wire) -> None:
        for reply, end in (("220", "\r\n"), *(("250", "\r\n"),) * 4, ("354", "\r\n.\r\n"), ("250", "QUIT\r\n")):
            await wire.write(f"{reply} go on\r\n".encode())
            await wire.reader.readuntil(end.encode())

    with HostileServer() as hostile:
        hostile.greet(take, sleep(9))
        answer = await sent(plain(f"127.0.0.1:{hostile.port}"), timeout=0.5)
    assert answer.reception is SendStatus.ACCEPTED


@pytest.mark.anyio
async def test_ours_a_server_that_is_not_there_is_tried_again() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        answer = await sent(plain(f"127.0.0.1:{closed.getsockname()[1]}"))
    assert answer.reception is SendStatus.DEFERRED
    assert "cannot be reached: Connection refused" in answer.message


@pytest.mark.parametrize(
    "address",
    ["", "ann", "ann@", "@example.com", "a@b@c", f"{ANN}, {BOB}", "a@b\r\nBcc: c@d", "a b@c", "a@" + "x" * 99],
)
def test_ours_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(UsageError, match=r"email\.to"):
        EmailChannel(plain("localhost"), [address], ALL)
    if address:
        with pytest.raises(UsageError, match=r"email\.sender"):
            EmailChannel(plain("localhost"), TO, ALL, address)


def test_ours_a_domain_that_is_not_ascii_is_put_into_it() -> None:
    message = EmailChannel(plain("localhost"), ["Änn <ann@bücher.example>"], ALL).build_message(CHANGED)
    assert message["To"].addresses[0].addr_spec == "ann@xn--bcher-kva.example"
    assert message["To"].addresses[0].display_name == "Änn"


@pytest.mark.parametrize(
    ("address", "security", "name"),
    [
        ("localhost:25", "none", "localhost:25"),
        ("mail.example.com", "none", "mail.example.com:25"),
        ("mail.example.com", "starttls", "mail.example.com:587"),
        ("mail.example.com", "tls", "mail.example.com:465"),
        ("[::1]:2525", "none", "[::1]:2525"),
    ],
)
def test_ours_a_server_has_the_usual_port(address: str, security: str, name: str) -> None:
    assert parse_server(address, security).name == name  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("address", "login", "words"),
    [
        ("", "", "email.server"),
        ("smtp://mail.example.com", "", "email.server"),
        ("mail.example.com:many", "", "email.server"),
        ("ann:s3cret@mail.example.com", "", "email.server"),
        ("localhost", "s3cret", "email.login"),
        ("localhost", "ann:", "email.login"),
        ("localhost", "ann:s3crét", "email.login"),
    ],
)
def test_ours_a_server_that_cannot_be_is_told(address: str, login: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        parse_server(address, "tls", login)
    assert words in str(caught.value)
    assert "s3cr" not in str(caught.value)
    with pytest.raises(UsageError, match="CA file"):
        parse_server("localhost", "tls", "", tmp_path / "none.pem")


def test_ours_the_sender_is_the_login_if_that_is_an_address() -> None:
    server = parse_server("mail.example.com:587", "starttls", "robot@example.org:secret")
    assert EmailChannel(server, TO, ALL).build_message(CHANGED)["From"] == "robot@example.org"
    plain_login = parse_server("mail.example.com:587", "starttls", "robot:secret")
    assert EmailChannel(plain_login, TO, ALL).build_message(CHANGED)["From"] == "siteatlas@example.com"
