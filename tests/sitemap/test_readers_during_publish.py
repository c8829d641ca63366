"""A reader that fetches the index and its children in a loop never sees a missing, a cut or an older file."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import date, timedelta
from pathlib import Path

import pytest
from nginx import nginx

from sitemap import Directory, Entry, SitemapWriter, WriterOptions

SETTLE = 0.05  # seconds


def publish(folder: Path, generation: int) -> None:
    """A set of three to five files, all of which tell the generation."""
    options = WriterOptions(max_urls=20)
    marked = str(date(2020, 1, 1) + timedelta(days=generation))
    destination = Directory(folder, settle=SETTLE, grace=5)
    with SitemapWriter(destination, "https://example.com/sitemap.xml", options) as writer:
        for number in range(50 + 20 * (generation % 3)):
            writer.add(Entry(f"https://example.com/{number}", marked))
        writer.finish()


@contextmanager
def watching(place: str, found: list[tuple[int, list[str]]]) -> Iterator[None]:
    command = [sys.executable, str(Path(__file__).with_name("watching.py")), place, str(SETTLE)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as reader:
        yield
        found.append(json.loads(reader.communicate(timeout=60)[0]))


def test_ours_readers_of_files_see_one_generation(tmp_path: Path) -> None:
    publish(tmp_path, 0)
    found: list[tuple[int, list[str]]] = []
    with watching(str(tmp_path), found):
        for generation in range(1, 13):
            publish(tmp_path, generation)
    assert found[0][0] > 5
    assert found[0][1] == []


@pytest.mark.slow
@pytest.mark.needs_nginx
def test_ours_readers_of_a_server_see_one_generation_during_200_publishes(tmp_path: Path) -> None:
    publish(tmp_path, 0)
    found: list[tuple[int, list[str]]] = []
    with ExitStack() as all_readers:
        server = all_readers.enter_context(nginx(tmp_path))
        for place in (server.url, str(tmp_path)):
            all_readers.enter_context(watching(place, found))
        for generation in range(1, 201):
            publish(tmp_path, generation)
    assert len(found) == 2
    for reads, faults in found:
        assert reads > 200
        assert faults == []
    print(f"{found[0][0]:,} reads of files and {found[1][0]:,} over HTTP during 200 publishes: 0 faults")
