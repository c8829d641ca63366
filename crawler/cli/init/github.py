"""A workflow for GitHub Actions that keeps the sitemap in the repository of the site.

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
# {what}: crawled by a timer, and committed when it has changed.
#
# For a site that is deployed from this repository. A push made here starts no other workflow of GitHub's; hosts that
# watch the repository see it. Where the files go elsewhere, set [upload] in {config}, and drop the last step.
name: Sitemap

on:
  schedule:
{note}    # UTC; GitHub may be late, and stops schedules of public repositories without commits for 60 days.
    - cron: {cron}
  workflow_dispatch:

# Two runs at once would be in each other's way; the second one waits.
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

      # What earlier runs learnt. GitHub forgets a cache that nobody used for a week, or when there are too many:
      # then pages are read whole again, dates that were observed give way to those that the pages state, the change
      # feed begins anew, and so does the memory of who was told what. What is published stays as it is until then.
      - uses: actions/cache/restore@v5
        with:
          path: {state}
          key: siteatlas-${{{{ github.run_id }}}}-${{{{ github.run_attempt }}}}
          restore-keys: siteatlas-

      # 4 is a run that was cut short, and the next one goes on with it: no failure.
      - name: Crawl
        timeout-minutes: 300
        run: |
          siteatlas run --config {config_word} || [ $? -eq 4 ]
{secrets}
      # Also after a run that failed: what it knows is the beginning of the next.
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
    """The text of the workflow. ``root`` is the top of the repository, where everything must be. Raises UsageError."""
    config = _path_within(kit.config, root, "the configuration")
    outputs = [_path_within(path, root, "output.directory") for path in kit.outputs]
    states = [_path_within(path, root, "state.directory") for path in kit.writes if path not in kit.outputs]
    notes = [kit.moment.note] if kit.moment.note else []
    if kit.moment.zone not in ("", "UTC"):
        notes.append(f"The configuration means {kit.moment.zone}.")
    return _WORKFLOW_TEXT.format(
        what=kit.description,
        config=config,
        config_word=shlex.quote(config),
        note="".join(f"    # {note}\n" for note in notes),
        cron=json.dumps(kit.moment.cron),
        package=shlex.quote(kit.package),
        state=states[0] if len(states) == 1 else "|\n" + "\n".join(f"            {each}" for each in states),
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
            f"{what} ({path}) is outside of the repository {root}, and a workflow sees nothing else: move it there"
        )
    return path.relative_to(root).as_posix()
