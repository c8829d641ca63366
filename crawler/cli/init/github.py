"""Writes a workflow for GitHub Actions that commits the sitemap to the repository of the site.

https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-syntax
"""

import json
import shlex
from pathlib import Path
from typing import Final

from crawler.cli.init.kit import InitKit
from crawler.errors import UsageError

WORKFLOW_FILE: Final = Path(".github/workflows/sitemap.yml")
_WORKFLOW_TEXT: Final = """\
# {what}: crawled on a schedule, and committed when it has changed.
#
# For a site that is deployed from this repository. A push of this workflow starts no other workflow; hosts that
# watch the repository see it. To upload the files instead, set [upload] in {config}, and remove the last step.
name: Sitemap

on:
  schedule:
{note}    # UTC; GitHub may be late, and stops schedules of public repositories without commits for 60 days.
    - cron: {cron}
  workflow_dispatch:

# Runs must not overlap; the second one waits.
concurrency:
  group: sitemap
  cancel-in-progress: false

permissions:
  contents: write  # for the commit

jobs:
  sitemap:
    runs-on: ubuntu-latest
    timeout-minutes: 350
    steps:
      - uses: actions/checkout@v6
      - uses: actions/setup-python@v6
        with:
          python-version: "3.13"
      - run: pip install {package}

      # The state of earlier runs. GitHub deletes a cache that is unused for a week, or when there are too many:
      # the next run then fetches every page in full, takes the dates that the pages state, and starts a new change
      # feed and a new record of notifications. The published files stay.
      - uses: actions/cache/restore@v5
        with:
          path: {state}
          key: siteatlas-${{{{ github.run_id }}}}-${{{{ github.run_attempt }}}}
          restore-keys: siteatlas-

      # Exit code 4 is a run that was cut short; the next one continues it, so this is not a failure.
      - name: Crawl
        timeout-minutes: 300
        run: |
          siteatlas run --config {config_word} || [ $? -eq 4 ]
{secrets}
      # Also after a failed run: the next one continues from its state.
      - uses: actions/cache/save@v5
        if: always()
        with:
          path: {state}
          key: siteatlas-${{{{ github.run_id }}}}-${{{{ github.run_attempt }}}}

      - name: Commit what changed
        run: |
          git add -- {outputs} ':!**/.siteatlas-*'
          git diff --cached --quiet && exit 0
          git config user.name "github-actions[bot]"
          git config user.email "41898282+github-actions[bot]@users.noreply.github.com"
          git commit -m "Regenerate the sitemap"
          git pull --rebase && git push
"""


def workflow(kit: InitKit, root: Path) -> str:
    """The text of the workflow. ``root`` is the repository, which must contain all paths. Raises UsageError."""
    config = _path_within(kit.config, root, "the configuration")
    outputs = [_path_within(path, root, "output.directory") for path in kit.outputs]
    states = [_path_within(path, root, "state.directory") for path in kit.writes if path not in kit.outputs]
    notes = [kit.moment.note] if kit.moment.note else []
    if kit.moment.zone not in ("", "UTC"):
        notes.append(f"The configuration uses {kit.moment.zone}.")
    return _WORKFLOW_TEXT.format(
        what=kit.description,
        config=config,
        config_word=shlex.quote(config),
        note="".join(f"    # {note}\n" for note in notes),
        cron=json.dumps(kit.moment.cron),
        package=shlex.quote(kit.package()),
        state=states[0] if len(states) == 1 else "|\n" + "\n".join(f"            {state}" for state in states),
        secrets=_secrets(kit),
        outputs=shlex.join(outputs),
    )


def _secrets(kit: InitKit) -> str:
    names = kit.secret_names()
    if not names:
        return ""
    lines = [f"          {name}: ${{{{ secrets.{name} }}}}" for name in names]
    return "\n".join(("        env:", *lines, ""))


def _path_within(path: Path, root: Path, what: str) -> str:
    if not path.is_relative_to(root):
        raise UsageError(
            f"{what} ({path}) is outside the Git repository {root}, but a GitHub workflow can read only files in the "
            f"repository. Move {path} into the repository"
        )
    return path.relative_to(root).as_posix()
