"""Writes each message into a file of a folder, from which another program takes it."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any


class Spool:
    """``folder`` is the folder. ``token``, a secret, is put into each file."""

    def __init__(self, _site: str, options: Mapping[str, Any]) -> None:
        self._folder = Path(options["folder"])
        self._token = str(options.get("token", ""))

    def send(self, message: Mapping[str, Any]) -> None:
        """Write the message. Its id is the same when it is sent again, so that no file is written twice."""
        draft = self._folder / f"{message['id']}.draft"
        draft.write_text(json.dumps({**message, "token": self._token}), encoding="utf-8")
        draft.replace(draft.with_suffix(".json"))
