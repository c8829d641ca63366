"""Serve the example site on this machine, run a command against it, and stop.

    python -m tests.example_site siteatlas crawl {url} -o example

``{url}`` in the command is where the site is. Without a command the site is served until Ctrl-C.
"""

import functools
import http.server
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

WWW = Path(__file__).parent / "www"
PORT = 8390  # the same each time, so that a second crawl updates the sitemap of the first; any other if it is taken


class _Quiet(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: the command has the terminal."""


def _listening(handler: Callable[..., _Quiet]) -> http.server.ThreadingHTTPServer:
    try:
        return http.server.ThreadingHTTPServer(("127.0.0.1", PORT), handler)
    except OSError:
        return http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)


def main(command: list[str]) -> int:
    """Run the command while the site is up; answers its exit code."""
    handler = functools.partial(_Quiet, directory=str(WWW))
    with _listening(handler) as server:
        url = f"http://127.0.0.1:{server.server_address[1]}/"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            if not command:
                print(f"the example site is at {url}; Ctrl-C ends it", flush=True)
                threading.Event().wait()
            return subprocess.run([part.replace("{url}", url) for part in command], check=False).returncode
        except KeyboardInterrupt:
            return 0
        finally:
            server.shutdown()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
