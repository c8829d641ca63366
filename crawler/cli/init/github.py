"""Writes a workflow for GitHub Actions that commits the sitemap to the repository of the site.

https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-syntax
"""

import json
import shlex
from pathlib import Path
from typing import Final

from crawler.cli.init.build import build_of
from crawler.cli.init.kit import InitKit, fill
from crawler.errors import UsageError
from crawler.packages import wheel_requirement

WORKFLOW_FILE: Final = Path(".github/workflows/sitemap.yml")


def workflow(kit: InitKit, root: Path) -> str:
    """The text of the workflow. ``root`` is the repository, which must contain all paths. Raises UsageError."""
    if kit.is_built and build_of(kit.outputs[0]):
        raise UsageError(
            f"a workflow of its own has no pages to read, because a build makes {kit.outputs[0]}. Leave --github out, "
            "and add the run to the workflow that builds the site: siteatlas manual setups/built-sites shows the steps"
        )
    config = _path_within(kit.config, root, "the configuration")
    outputs = [_path_within(path, root, "output.directory") for path in kit.outputs]
    states = [_path_within(path, root, "state.directory") for path in kit.writes if path not in kit.outputs]
    zone = kit.moment.zone
    notes = [kit.moment.note, "" if zone in ("", "UTC") else f"The configuration uses {zone}."]
    return fill(
        "workflow.yml",
        what=kit.description,
        config=config,
        config_word=shlex.quote(config),
        notes=[*filter(None, notes)],
        cron=json.dumps(kit.moment.cron),
        package=shlex.quote(wheel_requirement(kit.extras())),
        states=states,
        names=kit.secret_names(),
        outputs=shlex.join(outputs),
    )


def _path_within(path: Path, root: Path, what: str) -> str:
    if not path.is_relative_to(root):
        raise UsageError(
            f"{what} ({path}) is outside the Git repository {root}, but a GitHub workflow can read only files in the "
            f"repository. Move {path} into the repository"
        )
    return path.relative_to(root).as_posix()
