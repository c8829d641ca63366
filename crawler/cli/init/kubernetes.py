"""Writes manifests for Kubernetes: a CronJob with a volume for sitemaps and state, or the workers of a fleet.

https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/
https://kubernetes.io/docs/concepts/workloads/controllers/statefulset/
"""

import json
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any, Final

from crawler.cli.init.kit import InitKit, fill
from crawler.packages import IMAGE

DATA_DIRECTORY: Final = PurePosixPath("/data")
MAX_CONFIG_MAP: Final = 1_000_000
"""Bytes of the largest ConfigMap, about: https://kubernetes.io/docs/concepts/configuration/configmap/"""
_PORT: Final = 9188


def cronjob(kit: InitKit) -> str:
    """The claim, the configuration and the CronJob, in one file."""
    moment = kit.moment
    zone = json.dumps(moment.zone) if moment.zone else ""
    return _manifest(kit, "cronjob.yaml", kit.name, note=moment.note, cron=json.dumps(moment.cron), zone=zone)


def workers(kit: InitKit, file: str) -> str:
    """The workers of a fleet as a StatefulSet, its page, and their configuration, in one file of this name."""
    return _manifest(
        kit, "workers.yaml", f"{kit.name}-worker", file=file, page=f"{kit.name}-page", port=_PORT, stop=kit.stop_seconds
    )


def _manifest(kit: InitKit, template: str, name: str, **values: object) -> str:
    return fill(
        template,
        name=name,
        what=kit.description,
        image=IMAGE,
        home=DATA_DIRECTORY,
        config=kit.text,
        literals="".join(f" --from-literal={secret}=…" for secret in kit.secret_names() or ["NAME"]),
        **values,
    )


def unmounted_directories(sites: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """The directories in the tables of a configuration that a run writes to and that are on no volume."""
    directories = [
        tables.get(name, {}).get("directory", "") for tables in sites.values() for name in ("output", "state", "daemon")
    ]
    return [
        path
        for path in dict.fromkeys(directories)
        if path.startswith("/") and not PurePosixPath(path).is_relative_to(DATA_DIRECTORY)
    ]
