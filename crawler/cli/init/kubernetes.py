"""Writes a CronJob for Kubernetes, with its configuration and a volume for sitemaps and state.

https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/
"""

import json
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any, Final

from crawler.cli.init.kit import InitKit

DATA_DIRECTORY: Final = PurePosixPath("/data")
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
                limits: {{memory: 1Gi}}
              volumeMounts:
                - {{name: program, mountPath: /opt/siteatlas}}
                - {{name: tmp, mountPath: /tmp}}
          containers:
            - name: siteatlas
              image: python:3.13-slim
              command: [/opt/siteatlas/bin/siteatlas]
              args: [run, --config, {home}/siteatlas.toml]
              workingDir: {home}
              env:
                - {{name: HOME, value: /tmp}}
              envFrom:
                - secretRef: {{name: {name}, optional: true}}
              securityContext: *confined
              resources: *resources
              volumeMounts:
                - {{name: data, mountPath: {home}}}
                # Beside the data, since its paths are relative to its directory.
                - {{name: config, mountPath: {home}/siteatlas.toml, subPath: siteatlas.toml, readOnly: true}}
                - {{name: program, mountPath: /opt/siteatlas, readOnly: true}}
                - {{name: tmp, mountPath: /tmp}}
          volumes:
            - name: data
              persistentVolumeClaim:
                claimName: {name}
            - name: config
              configMap:
                name: {name}
            - name: program
              emptyDir: {{}}
            - name: tmp
              emptyDir: {{}}
"""


def cronjob(kit: InitKit) -> str:
    """The claim, the configuration and the CronJob, in one file."""
    moment = kit.moment
    pip = "/opt/siteatlas/bin/pip install --no-cache-dir"
    literals = "".join(f" --from-literal={name}=…" for name in kit.secret_names()) or " --from-literal=NAME=…"
    return _CRONJOB_TEXT.format(
        what=kit.description,
        name=kit.name,
        package=json.dumps(kit.package),
        home=DATA_DIRECTORY,
        config="".join(f"    {line}\n" if line else "\n" for line in kit.text.splitlines()),
        literals=literals,
        note=f"  # {moment.note}\n" if moment.note else "",
        cron=json.dumps(moment.cron),
        zone=f"  timeZone: {json.dumps(moment.zone)}\n" if moment.zone else "",
        install=json.dumps(f"python -m venv /opt/siteatlas && {pip} '{kit.package}'"),
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
