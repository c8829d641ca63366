"""Writes manifests for Kubernetes: a CronJob with a volume for sitemaps and state, or the workers of a fleet.

https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/
https://kubernetes.io/docs/concepts/workloads/controllers/statefulset/
"""

import json
import textwrap
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any, Final

from crawler.cli.init.kit import InitKit

DATA_DIRECTORY: Final = PurePosixPath("/data")
_AFTER_STOP: Final = 30  # seconds for a worker after its runs have stopped
_CRONJOB_TEXT: Final = """\
# {what}, for: kubectl apply -f {name}.yaml
#
# There is no image of Siteatlas: the first container installs it from the package index at each run. To avoid that,
# build an image, and remove that container, its volume and the path of the command:
#   FROM python:3.13-slim
#   RUN pip install --no-cache-dir {package}
#   USER 10001:10001
#
# The volume has the published files and the state, below {home}. A web server mounts the same claim read-only:
#   volumes: [{{name: sitemaps, persistentVolumeClaim: {{claimName: {name}, readOnly: true}}}}]
# Or set [upload] in the configuration to upload the files to the web server.
apiVersion: v1
kind: PersistentVolumeClaim
metadata:
  name: {name}
spec:
  accessModes: [ReadWriteOnce]
  resources:
    requests:
      storage: 2Gi
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: {name}
data:
  siteatlas.toml: |2
{config}---
# Secrets that the configuration names as env:NAME, if there are any:
#   kubectl create secret generic {name}{literals}
apiVersion: batch/v1
kind: CronJob
metadata:
  name: {name}
spec:
{note}  schedule: {cron}
{zone}  concurrencyPolicy: Forbid
  # A run that is later than this is skipped.
  startingDeadlineSeconds: 3600
  successfulJobsHistoryLimit: 3
  failedJobsHistoryLimit: 3
  jobTemplate:
    spec:
      # Retries continue a run that was cut short (4), but not one that is refused (3) or misconfigured (2).
      backoffLimit: 3
      activeDeadlineSeconds: 86400
      podFailurePolicy:
        rules:
          - action: FailJob
            onExitCodes:
              containerName: siteatlas
              operator: In
              values: [2, 3]
            onPodConditions: []
      template:
        spec:
          restartPolicy: Never
          # Time to save the state when the run is stopped.
          terminationGracePeriodSeconds: 60
{pod}"""

_POD_TEXT: Final = """\
automountServiceAccountToken: false
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile:
    type: RuntimeDefault
initContainers:
  - name: install
    image: python:3.13-slim
    command: [sh, -c]
    args: [{install}]
    env:
      - {{name: HOME, value: /tmp}}
    securityContext: &confined
      allowPrivilegeEscalation: false
      readOnlyRootFilesystem: true
      capabilities:
        drop: [ALL]
    resources: &resources
      requests: {{cpu: 100m, memory: 256Mi}}
      limits: {{memory: {memory}}}
    volumeMounts:
      - {{name: program, mountPath: /opt/siteatlas}}
      - {{name: tmp, mountPath: /tmp}}
containers:
  - name: siteatlas
    image: python:3.13-slim
    command: [/opt/siteatlas/bin/siteatlas]
    args: [{args}]
    workingDir: {home}
    env:
      - {{name: HOME, value: /tmp}}
    envFrom:
      - secretRef: {{name: {name}, optional: true}}
    securityContext: *confined
    resources: *resources
{more}    volumeMounts:
      - {{name: data, mountPath: {home}}}
      # Beside the data, since its paths are relative to its directory.
      - {{name: config, mountPath: {home}/siteatlas.toml, subPath: siteatlas.toml, readOnly: true}}
      - {{name: program, mountPath: /opt/siteatlas, readOnly: true}}
      - {{name: tmp, mountPath: /tmp}}
volumes:
{volume}  - name: config
    configMap:
      name: {name}
  - name: program
    emptyDir: {{}}
  - name: tmp
    emptyDir: {{}}
"""
_CLAIM_VOLUME: Final = "  - name: data\n    persistentVolumeClaim:\n      claimName: {name}\n"
_PORT: Final = 9188
_NO_VOLUME: Final = "  - name: data\n    emptyDir: {}\n"
_SERVER: Final = """\
    ports:
      - {{name: http, containerPort: {port}}}
    # Without PostgreSQL, it is not ready. A restart would not help.
    readinessProbe:
      httpGet: {{path: /healthz, port: http}}
"""
_WORKERS_TEXT: Final = """\
# The workers of a fleet, for: kubectl apply -f {file}
#
# Each worker has a volume of its own for the states of the sites that it runs; [fleet] state_store has their snapshots.
# Published files are on that volume, too, below {home}: upload them with [upload], or mount a shared volume there.
# There is no image of Siteatlas: the first container installs it from the package index at each start. To avoid that,
# build an image, and remove that container, its volume and the path of the command:
#   FROM python:3.13-slim
#   RUN pip install --no-cache-dir {package}
#   USER 10001:10001
apiVersion: v1
kind: ConfigMap
metadata:
  name: {name}
data:
  siteatlas.toml: |2
{config}---
# Without an address: it only gives each worker its name.
apiVersion: v1
kind: Service
metadata:
  name: {name}
spec:
  clusterIP: None
  selector:
    app.kubernetes.io/name: {name}
---
# An upgrade of the machines stops one worker at a time.
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {name}
spec:
  maxUnavailable: 1
  selector:
    matchLabels:
      app.kubernetes.io/name: {name}
---
# The page and the metrics of the fleet, without a login, so for this cluster only. To see the page:
#   kubectl port-forward service/{page} {port}
apiVersion: v1
kind: Service
metadata:
  name: {page}
spec:
  selector:
    app.kubernetes.io/name: {page}
  ports:
    - {{name: http, port: {port}, targetPort: http}}
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {page}
spec:
  # Prometheus needs one only: each returns the metrics of the whole fleet.
  replicas: 1
  selector:
    matchLabels: &page
      app.kubernetes.io/name: {page}
  template:
    metadata:
      labels: *page
    spec:
{server}---
# Secrets that [fleet] and the sites name as env:NAME; all workers have them all:
#   kubectl create secret generic {name}{literals}
apiVersion: apps/v1
kind: StatefulSet
metadata:
  name: {name}
spec:
  serviceName: {name}
  # More workers: kubectl scale statefulset {name} --replicas=N
  replicas: 2
  podManagementPolicy: Parallel
  selector:
    matchLabels: &labels
      app.kubernetes.io/name: {name}
  template:
    metadata:
      labels: *labels
    spec:
      # Time for the runs to save their state when a worker is stopped. Other workers continue them.
      terminationGracePeriodSeconds: {stop}
      topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: kubernetes.io/hostname
          whenUnsatisfiable: ScheduleAnyway
          labelSelector:
            matchLabels: *labels
{pod}  volumeClaimTemplates:
    - metadata:
        name: data
      spec:
        accessModes: [ReadWriteOnce]
        resources:
          requests:
            storage: 20Gi
"""
MAX_CONFIG_MAP: Final = 1_000_000
"""Bytes of the largest ConfigMap, about: https://kubernetes.io/docs/concepts/configuration/configmap/"""


def cronjob(kit: InitKit) -> str:
    """The claim, the configuration and the CronJob, in one file."""
    moment = kit.moment
    return _CRONJOB_TEXT.format(
        what=kit.description,
        name=kit.name,
        package=json.dumps(kit.package()),
        home=DATA_DIRECTORY,
        config=_config_text(kit),
        literals=_literals(kit),
        note=f"  # {moment.note}\n" if moment.note else "",
        cron=json.dumps(moment.cron),
        zone=f"  timeZone: {json.dumps(moment.zone)}\n" if moment.zone else "",
        pod=_pod(kit.name, kit.package(), "run", 10, _CLAIM_VOLUME.format(name=kit.name)),
    )


def workers(kit: InitKit, file: str) -> str:
    """The workers of a fleet as a StatefulSet, its page, and their configuration, in one file of this name."""
    package, name, page = kit.package("fleet"), f"{kit.name}-worker", f"{kit.name}-page"
    serve = f'fleet, serve, --listen, "0.0.0.0:{_PORT}", --allowed-host, {page}'
    probe = _SERVER.format(port=_PORT)
    return _WORKERS_TEXT.format(
        file=file,
        name=name,
        page=page,
        port=_PORT,
        package=json.dumps(package),
        home=DATA_DIRECTORY,
        config=_config_text(kit),
        literals=_literals(kit),
        stop=round(kit.first_config.daemon.shutdown_timeout) + _AFTER_STOP,
        pod=_pod(name, package, "fleet, worker", 6, memory="2Gi"),
        server=_pod(name, package, serve, 6, _NO_VOLUME, memory="512Mi", more=probe),
    )


def _pod(  # noqa: PLR0913 - what the pods differ in
    name: str, package: str, command: str, indent: int, volume: str = "", *, memory: str = "1Gi", more: str = ""
) -> str:
    """The pod of a command, with the secrets and the configuration of this name."""
    pip = "/opt/siteatlas/bin/pip install --no-cache-dir"
    text = _POD_TEXT.format(
        name=name,
        home=DATA_DIRECTORY,
        args=f"{command}, --config, {DATA_DIRECTORY}/siteatlas.toml",
        install=json.dumps(f"python -m venv /opt/siteatlas && {pip} '{package}'"),
        volume=volume,
        memory=memory,
        more=more,
    )
    return textwrap.indent(text, " " * indent)


def _config_text(kit: InitKit) -> str:
    return "".join(f"    {line}\n" if line else "\n" for line in kit.text.splitlines())


def _literals(kit: InitKit) -> str:
    return "".join(f" --from-literal={name}=…" for name in kit.secret_names()) or " --from-literal=NAME=…"


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
