"""Every channel is in the registry, and all that follows from it does: keys, secrets, runs, tests and dry runs."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from doubles_console import EMAIL, Console
from doubles_indexnow import KEY, Double, Site
from doubles_mail import mailbox

from crawler.config.config import Config
from crawler.config.load import SECRET_KEYS, ConfigFile, load_site
from crawler.config.plan import plan_crawl
from crawler.config.reference import reference_sections
from crawler.config.sections import ChannelConfig
from crawler.config.settings import section_of
from crawler.errors import UsageError
from crawler.fleet.registry import fleet_site
from crawler.notify.configure import CHANNELS, check_channels
from crawler.notify.notify import send_notifications, send_test_messages

SECRET = "a-secret-0123456789"
SECTIONS = [name for name in Config.model_fields if issubclass(section_of(name), ChannelConfig)]
ELSEWHERE_SENT = (Path(__file__).parents[2] / "test_secrets_nowhere.py").read_text(encoding="utf-8")
PUBLIC = {"key_url"}  # IndexNow has everybody read the key there
ELSEWHERE = {("email", "login")}  # tests/crawler/notify/channels/test_email_channel.py
SECRET_WORDS = ("key", "secret", "login", "url", "urls", "password", "token", "account")


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with Double() as search:
        yield Site(search, tmp_path)


def settings(name: str, site: Site, google: Console, mail: str) -> dict[str, Any]:
    """The least with which a channel sends, and each of its secrets, for a channel of the registry."""
    home = site.double.home
    least: dict[str, dict[str, Any]] = {
        "indexnow": {"indexnow__key": KEY},
        "search_console": {"search_console__account": google.account(), "search_console__endpoint": google.endpoint},
        "webhook": {"webhook__urls": [f"{home}/hook"], "webhook__secret": "a secret of the webhook"},
        "email": {"email__to": ["me@example.com"], "email__server": mail, "email__on": ["changes"]},
        "hook": {"hook__command": ["true"]},
    }
    assert name in least, f"{name} needs its least settings here"
    return least[name]


def test_ours_each_section_of_a_channel_is_built_and_the_reverse() -> None:
    assert list(CHANNELS) == [*SECTIONS, "plugins"], "CHANNELS of crawler/notify/configure.py, in the order of Config"
    assert {section_of(name) for name in SECTIONS} == set(ChannelConfig.__subclasses__()), "fields of Config"
    for name in SECTIONS:
        section = section_of(name)
        assert issubclass(section, ChannelConfig)
        assert section.switch in section.model_fields
        assert not section().is_on
        assert f"[{name}]" in ELSEWHERE_SENT, f"tests/test_secrets_nowhere.py has no section [{name}] with its secrets"


@pytest.mark.parametrize("name", SECTIONS)
def test_ours_each_channel_sends_in_a_run_and_tells_its_test_and_its_dry_run(
    name: str, site: Site, google: Console
) -> None:
    google.owners.add((f"{site.double.home}/", EMAIL))
    with mailbox() as box:
        plan = site.planned(**{"indexnow__key": "", **settings(name, site, google, box.address)})
        assert name in plan.config.channels, "or a run would not send"
        (key,) = check_channels(plan).keys
        site.run(["/"])
        anyio.run(send_notifications, plan, "shop")
        site.run(["/", "/a"])
        tested = anyio.run(send_test_messages, plan, "shop")
        dry = anyio.run(lambda: send_notifications(plan, "shop", dry_run=True))
        sent = anyio.run(send_notifications, plan, "shop")
    said = [*(report.channel for report in tested.deliveries), *(note.partition(":")[0] for note in tested.notes)]
    assert said == [key]
    assert [(report.channel, report.reception) for report in dry.deliveries] == [(key, "would send")]
    answers = [(report.channel, report.reception, report.said) for report in sent.deliveries]
    assert [answer[:2] for answer in answers] == [(key, "accepted")], answers


@pytest.mark.parametrize("name", SECTIONS)
def test_ours_no_secret_is_told_when_a_receiver_repeats_what_it_gets(name: str, site: Site, google: Console) -> None:
    site.double.echoes = True
    with mailbox() as box:
        given = settings(name, site, google, box.address)
        plan = site.planned(**{"indexnow__key": "", **given})
        site.run(["/"])
        anyio.run(send_notifications, plan, "shop")
        site.run(["/", "/a"])
        told = repr((anyio.run(send_test_messages, plan, "shop"), anyio.run(send_notifications, plan, "shop")))
    values = [given[f"{name}__{key}"] for key in SECRET_KEYS[name] if (name, key) not in ELSEWHERE]
    secrets = [each for value in values for each in ([value] if isinstance(value, str) else value)]
    told_secrets = [secret for secret in secrets if secret in told]
    assert not told_secrets, "NotifyResponse.secrets names what HttpSender does not hide"


@pytest.mark.parametrize("name", SECTIONS)
def test_ours_what_is_named_like_a_secret_is_one(name: str) -> None:
    fields = section_of(name).model_fields
    texts = [key for key, field in fields.items() if field.annotation in (str, tuple[str, ...])]
    secrets = {key for key in texts if any(key == word or key.endswith(f"_{word}") for word in SECRET_WORDS)}
    secrets |= {key.name for key in reference_sections()[name].keys.values() if "env:NAME" in key.text}
    assert secrets - PUBLIC <= set(SECRET_KEYS[name])


@pytest.mark.parametrize(
    ("section", "key"), [(name, key) for name in SECTIONS for key in SECRET_KEYS[name] if key != "account"]
)
def test_ours_a_secret_lies_beside_the_file_is_never_told_and_stays_out_of_the_fleet(
    tmp_path: Path, section: str, key: str
) -> None:
    is_list = section_of(section).model_fields[key].annotation is not str
    site = 'site = {url = "https://a.example/"}\noutput = {directory = "out"}\n'

    def load(value: object) -> Config:
        shown = json.dumps([value] if is_list else value)
        file = ConfigFile(tmp_path / "sites.toml", f"{site}[{section}]\n{key} = {shown}\n")
        return load_site(file)

    value = getattr(getattr(load("file:secrets/one"), section), key)
    assert value in (f"file:{tmp_path}/secrets/one", (f"file:{tmp_path}/secrets/one",))
    with pytest.raises(UsageError, match=key) as told:
        load([SECRET])
    assert SECRET not in str(told.value)
    with pytest.raises(UsageError, match=rf"{section}\.{key} in plain text"):
        fleet_site("a", plan_crawl(load(SECRET)))
