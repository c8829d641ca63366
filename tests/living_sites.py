"""Made sites in folders that change while they are served, and what is true of them at each moment."""

import random
from dataclasses import dataclass, field
from pathlib import Path

from madesite import prose


@dataclass
class LivingSite:
    """A folder of pages that a server serves. ``listed`` are the paths that a true sitemap has, at this moment.

    Every change keeps the site whole: a page is there before it is linked, and linked no more before it goes.
    """

    root: Path
    seed: int
    texts: dict[str, str] = field(default_factory=dict)
    hidden: set[str] = field(default_factory=set)
    born: int = 0

    def __post_init__(self) -> None:
        self.rng = random.Random(self.seed)
        self.root.mkdir(parents=True, exist_ok=True)
        for _ in range(12):
            self.add()

    @property
    def listed(self) -> set[str]:
        return {"/", *(path for path in self.texts if path not in self.hidden)}

    def change(self) -> str:
        """Do one of the things that editors do; answers which."""
        deed = self.rng.choice(("add", "edit", "edit", "remove", "hide", "show"))
        getattr(self, deed)()
        return deed

    def add(self) -> None:
        path = f"/page-{self.born:03}.html"
        self.born += 1
        self.texts[path] = prose(self.rng, 40)
        self._write(path)
        self._write_home()

    def edit(self) -> None:
        path = self._any()
        self.texts[path] = prose(self.rng, 40)
        self._write(path)

    def remove(self) -> None:
        if len(self.texts) < 10:
            return
        path = self._any()
        del self.texts[path]
        self.hidden.discard(path)
        self._write_home()
        (self.root / path[1:]).unlink()

    def hide(self) -> None:
        if len(self.hidden) > 2:
            return
        path = self._any()
        self.hidden.add(path)
        self._write(path)

    def show(self) -> None:
        if self.hidden:
            path = min(self.hidden)
            self.hidden.discard(path)
            self._write(path)

    def _any(self) -> str:
        return self.rng.choice(sorted(self.texts))

    def _write(self, path: str) -> None:
        robots = '<meta name="robots" content="noindex">' if path in self.hidden else ""
        self._put(
            path[1:],
            f"<!doctype html><html lang=en><head><title>{path}</title>{robots}</head>"
            "<body><nav><a href=/>Home</a></nav>"
            f"<main><h1>{path}</h1><p>{self.texts[path]}</p></main></body></html>",
        )

    def _write_home(self) -> None:
        links = "".join(f"<li><a href='{path}'>{path}</a>" for path in self.texts)
        self._put("index.html", f"<!doctype html><title>Home</title><main><h1>Home</h1><ul>{links}</ul></main>")

    def _put(self, name: str, text: str) -> None:
        draft = self.root / f".{name}.draft"
        draft.write_text(text)
        draft.replace(self.root / name)
