"""A generation that was kept can be published again, byte for byte, or it is said why not."""

import signal
from pathlib import Path

import pytest
from marked_sets import content, expected, keep, publish, restore, seen
from traced import Traced, points

from sitemap import Child, DestinationError, Directory, Generations, SitemapError, write_index


def test_ours_a_kept_generation_is_published_again(tmp_path: Path) -> None:
    public, private = tmp_path / "public", tmp_path / "private"
    sets = {}
    for number, generation in enumerate(["old", "new", "alone"], 1):
        keep(public, private, generation, number)
        sets[number] = content(public)
    assert Generations(private).numbers() == [2, 3]
    for number in (2, 3, 2):
        restore(public, private, number)
        files = {file.name for file in Generations(private).published(number).files} | {"sitemap.css"}
        assert content(public) == {name: sets[number][name] for name in files}
    assert Generations(private).published(2).files[-1].name == "sitemap.xml"
    with pytest.raises(DestinationError, match=r"generation 1 does not exist .*\. Choose one of 2, 3"):
        restore(public, private, 1)


def test_ours_a_file_of_several_generations_is_kept_once(tmp_path: Path) -> None:
    public, private = tmp_path / "public", tmp_path / "private"
    keep(public, private, "old", 1)
    one = set((private / "objects").iterdir())
    keep(public, private, "same-index", 2)
    two = set((private / "objects").iterdir())
    assert len(two - one) == 3  # the children that changed
    assert one <= two
    keep(public, private, "same-index", 3)
    assert set((private / "objects").iterdir()) < two
    assert not any(file.samefile(copy) for file in public.glob("*.xml") for copy in two if copy.exists())


def test_ours_a_damaged_copy_is_not_published_and_is_mended_by_the_next(tmp_path: Path) -> None:
    public, private = tmp_path / "public", tmp_path / "private"
    keep(public, private, "old", 1)
    keep(public, private, "new", 2)
    before = content(public)
    copies = sorted((private / "objects").iterdir())
    for number, copy in enumerate(copies):
        if number % 2:
            copy.unlink()
        else:
            copy.write_bytes(copy.read_bytes()[:-1])
    with pytest.raises(DestinationError, match=r"of generation 1 is damaged, so nothing was published\. Restore"):
        restore(public, private, 1)
    assert content(public) == before
    keep(public, private, "old", 3)
    old = content(public)
    publish(public, "new")
    restore(public, private, 3)
    assert content(public) == old


def test_ours_only_what_was_published_is_kept(tmp_path: Path) -> None:
    public, private = tmp_path / "public", tmp_path / "private"
    published = publish(public, "old")
    generations = Generations(private)
    (public / "sitemap-b-1.xml").write_bytes((public / "sitemap-c-1.xml").read_bytes())
    with pytest.raises(
        DestinationError, match=r"sitemap-b-1\.xml has changed since it was published, so no copy is kept"
    ):
        generations.keep(published, Directory(public), 1)
    (public / "sitemap-b-1.xml").unlink()
    with pytest.raises(DestinationError, match=r"sitemap-b-1\.xml cannot be kept: No such file"):
        generations.keep(published, Directory(public), 1)
    assert generations.numbers() == []


def test_ours_generations_are_not_kept_where_everybody_can_read_them(tmp_path: Path) -> None:
    published = publish(tmp_path, "old")
    for private in (tmp_path, tmp_path / "kept"):
        with pytest.raises(SitemapError, match="not be inside the published"):
            Generations(private).keep(published, Directory(tmp_path), 1)
    with pytest.raises(SitemapError, match="at least 0"):
        Generations(tmp_path.parent / "kept").keep(published, Directory(tmp_path), -1)
    with pytest.raises(SitemapError, match="at least 1"):
        Generations(tmp_path, last=0)


def test_ours_other_files_stay_when_a_generation_comes_back(tmp_path: Path) -> None:
    public, private = tmp_path / "public", tmp_path / "private"
    public.mkdir()
    (public / "sitemap-b-9.xml").write_text("mine")
    keep(public, private, "old", 1)
    alone = write_index(Directory(public), "https://example.com/all.xml", [Child("https://example.com/sitemap.xml")])
    Generations(tmp_path / "other").keep(alone, Directory(public), 1)
    keep(public, private, "new", 2)
    restore(public, private, 1)
    restore(public, tmp_path / "other", 1)
    assert (public / "all.xml").exists()
    assert seen(public) == expected("old")


def test_ours_a_broken_note_of_a_generation_harms_no_other(tmp_path: Path) -> None:
    public, private = tmp_path / "public", tmp_path / "private"
    keep(public, private, "old", 1)
    keep(public, private, "new", 2)
    (private / "2.json").write_bytes((private / "2.json").read_bytes()[:50])
    with pytest.raises(DestinationError, match=r"generation 2 in .* cannot be read"):
        restore(public, private, 2)
    restore(public, private, 1)
    assert seen(public) == expected("old")


def kill_everywhere(process: Traced, work: Path, step: int) -> None:
    """Keep a second generation beside a first, or restore the first, and be killed."""

    def begin(folder: Path) -> tuple[Path, Path]:
        folder.mkdir()
        keep(folder / "public", folder / "private", "old", 1)
        publish(folder / "public", "new")
        return folder / "public", folder / "private"

    for verb, args in (("keep", ("new", 2)), ("restore", (1,))):
        calls = process.run([], verb, *begin(work / verb), *args).calls
        for name, count in points(calls)[::step]:
            public, private = begin(work / f"{verb}-{name}-{count}")
            outcome = process.run([f"{name}:signal=KILL:when={count}"], verb, public, private, *args)
            assert outcome.status == -signal.SIGKILL
            assert seen(public) in (expected("old"), expected("new"))
            for number in Generations(private).numbers():
                restore(public, private, number)
                assert seen(public) == expected({1: "old", 2: "new"}[number])
            keep(public, private, "new", 2)
            assert Generations(private).numbers() == [1, 2]
            assert not (private / "objects" / ".draft").exists()


@pytest.mark.needs_strace
def test_ours_a_kill_while_keeping_or_restoring_loses_no_generation(process: Traced, memory: Path) -> None:
    kill_everywhere(process, memory, 17)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.needs_strace
def test_ours_a_kill_anywhere_while_keeping_or_restoring_loses_no_generation(process: Traced, memory: Path) -> None:
    kill_everywhere(process, memory, 1)
