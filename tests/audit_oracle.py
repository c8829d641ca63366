"""What an audit has to say of a small site, by brute force and from the sentences of the rules, not from the code.

It knows the whole site and follows every statement one by one; sets and loops, no arrays, no tables.
"""

from made_sites import Hits, Made, Res, Told

PAGE, GONE, REFUSED, FAILING, MOVED, COPY, NOINDEX, BLOCKED, OTHER = range(9)
CLICKS = ("a", "frame", "area")
HEADS = ("hreflang", "next", "amp", "feed", "item")
FOLLOWED = ("click", "slow", "canonical", "move", "head")
MAX_CLICKS, FEW, MIN_VISITS = 5, 1, 5
DECIDED = frozenset(
    {
        *("orphan.sitemap", "orphan.search", "orphan.log", "orphan.list", "orphan.island"),
        *("weak.redirect", "weak.canonical", "weak.noindex", "weak.nofollow", "weak.head"),
        *("reach.deep", "reach.few", "listed.missing"),
        *("gone.visited", "gone.named", "gone.linked", "gone.failing", "gone.down"),
        *("entry.gone", "entry.failed", "entry.refused", "entry.redirect"),
        *("entry.noindex", "entry.blocked", "entry.canonical"),
    }
)
"""The rules that this oracle decides. It is silent about all others."""
_NOTHING = Res(status=404)


class Oracle:
    """The truth about one site."""

    def __init__(self, site: Made) -> None:
        self.site = site
        self.spelt: set[str] = set()  # what is known for a spelling only: what it links to is no news
        self.unread: set[str] = set()
        self.start = self.redirected("/")
        self.named = {*site.listed, *(each.removeprefix("http:") for each in (*site.searched, *site.noted))}
        self.known = self.closure({"/"}, FOLLOWED)
        self.ignored = self.wave()
        self.unread = {to for path in self.known for _, to in self.says(path)} - self.known
        self.touched = self.closure({"/"})
        self.open = self.closure({"/"}, ("click", "nofollow", "slow", "canonical", "move"))
        self.copies = self.copied()

    # ------------------------------------------------------------ the site

    def res(self, path: str) -> Res:
        if path.startswith("http:"):
            return Res(301, target=path[5:])
        return self.site.pages.get(path, _NOTHING)

    def state(self, path: str) -> int:
        """How a URL ends."""
        page = self.res(path)
        if path in self.site.blocked:
            return BLOCKED
        if page.status in (404, 410):
            return GONE
        if page.status in (401, 403):
            return REFUSED
        if page.status >= 500:
            return FAILING
        if page.status >= 300:
            return FAILING if page.target == path else MOVED  # to itself: it never gets anywhere
        if page.feed:
            return OTHER
        if page.refresh and page.refresh != path:
            return MOVED
        if page.noindex:
            return NOINDEX
        return COPY if len(set(page.canonicals)) == 1 and page.canonicals[0] != path else PAGE

    def says(self, path: str) -> list[tuple[str, str]]:
        """The statements of a document: kinds and targets, what is stated twice in the better way."""
        page = self.res(path)
        if path in self.site.blocked or page.status != 200 or path in self.spelt | self.unread:
            return []
        found = []
        clicked = {to for to, kind in page.links if kind in CLICKS} if not page.hushed else set()
        for to, kind in page.links:
            if page.feed:
                found.append(("head", to))
            elif kind in CLICKS:
                found.append(("nofollow" if page.hushed else "click", to))
            elif kind == "nofollow":
                found += [("nofollow", to)] * (to not in clicked)
            else:
                found.append(("head" if kind in HEADS else kind, to))
        found += [("canonical", to) for to in page.canonicals] if not page.feed else []
        return found

    def onward(self, path: str) -> str:
        """Where a redirect or a canonical leads, or ""."""
        page = self.res(path) if path not in self.unread else _NOTHING
        match self.state(path) if path not in self.unread else GONE:
            case 4:
                return page.target or page.refresh
            case 5:
                return page.canonicals[0]
        return ""

    def redirected(self, path: str) -> str:
        seen = [path]
        while self.state(path) == MOVED and self.onward(path) not in seen:
            path = self.onward(path)
            seen.append(path)
        return path

    def chain(self, path: str) -> list[str]:
        """A URL and what its redirects and canonicals lead to; a way in a circle leads nowhere."""
        seen = [path]
        while to := self.onward(seen[-1]):
            if to in seen:
                return [path]
            seen.append(to)
        return seen

    def home(self, path: str) -> str:
        return self.chain(path)[-1]

    def closure(self, starts: set[str], kinds: tuple[str, ...] = ()) -> set[str]:
        """What these lead to, by statements of some kinds, or all."""
        found, todo = set(starts), list(starts)
        while todo:
            path = todo.pop()
            next_ = [to for kind, to in self.says(path) if not kinds or kind in kinds]
            next_ += (
                [self.onward(path)]
                if self.onward(path) and not (kinds == FOLLOWED and path.startswith("http:"))
                else []
            )
            new = {to for to in next_ if to not in found}
            found |= new
            todo += new
        return found

    # ------------------------------------------------------------ spellings

    @staticmethod
    def folded(path: str) -> str:
        bare, _, query = path.lower().partition("?")
        return f"{bare.removesuffix('index.html').rstrip('/')}?{'&'.join(sorted(query.split('&')))}"

    @property
    def pages(self) -> set[str]:
        """What is known to be a page by now."""
        return {path for path in self.known if self.state(path) == PAGE}

    def wave(self) -> set[str]:
        """Let what only the sources know be known; answers what is not asked for.

        Spellings of known pages come last, and what they link to is no news.
        """
        logged = {each.target for each in self.site.hits}
        while True:
            # what says neither index nor follow leads to more of its kind for ever
            inviting = {path for path in self.known if self.state(path) != NOINDEX}
            asked = {to for path in inviting for kind, to in self.says(path) if kind == "nofollow"}
            asked |= {self.onward(path) for path in self.known if path.startswith("http:")}
            todo = (self.named | logged) - self.known
            asked |= {path for path in todo if self.is_worth_asking(path) and not self.is_asked_last(path)}
            if not asked - self.known:
                break
            self.known |= self.closure(asked, FOLLOWED)
        self.spelt = spelt = {path for path in todo if self.is_spelling(path) and self.is_worth_asking(path)}
        for path in spelt:  # where they redirect to is
            self.known |= {path, *self.closure({self.onward(path)} - {""})}
        return todo - spelt

    def is_spelling(self, path: str) -> bool:
        """Whether it looks like a page that is known: in another spelling, or with a parameter that only a log has."""
        if path in self.site.listed:
            return False
        is_dressed = path not in self.named and "?" in path and path.partition("?")[0] in self.pages
        return bool(self.meets(path)) or is_dressed

    def is_asked_last(self, path: str) -> bool:
        """Whether it is asked for as a spelling: not what is wanted so much although nobody ever got it."""
        hits = [each.status for each in self.site.hits if each.target == path]
        is_dead = path not in self.named and all(status >= 400 for status in hits)
        return self.is_spelling(path) and not is_dead

    def meets(self, path: str) -> str:
        """The one page that a path is another spelling of."""
        same = [page for page in self.pages - {path} if self.folded(page) == self.folded(path)]
        return same[0] if len(same) == 1 else ""

    def is_worth_asking(self, path: str) -> bool:
        """Whether what only a log knows is asked for: it answered, or so many want it that it matters."""
        if path in self.named:
            return True
        hits = [each for each in self.site.hits if each.target == path]
        if any(each.status == 200 for each in hits):
            return True
        is_moved = any(300 <= each.status < 400 for each in hits)
        if self.is_spelling(path) and (is_moved or not self.meets(path)):
            return False
        people = sum(each.people + each.engines for each in hits)
        return is_moved or people >= MIN_VISITS

    def copied(self) -> dict[str, str]:
        """The pages that are another one in another spelling, or to the letter."""
        return {
            path: page
            for path in self.pages - self.touched - set(self.site.listed)
            if (page := self.res(path).same) and page in self.pages
        }

    def comes_to(self, path: str) -> str:
        """The URL that a claim speaks of, or ""."""
        path = path.removeprefix("http:")
        if path in self.ignored:
            hits = [each for each in self.site.hits if each.target == path]
            return self.meets(path) if any(300 <= each.status < 400 for each in hits) else ""
        chain = self.chain(path)
        copies = [each for each in chain if self.state(each) == COPY]
        if copies and self.state(chain[-1]) != PAGE:  # it is there, whatever it calls its canonical
            return copies[0]
        return self.copies.get(chain[-1], chain[-1])

    # ------------------------------------------------------------ what leads to a URL

    def ways(self, path: str) -> set[str]:
        """How a URL is led to, from other pages, itself and by way of what leads on to it."""
        ways = self.direct(path)
        for alias in self.known:
            if alias == path or self.home(alias) != path:
                continue
            passed = self.direct(alias)
            if passed - {"island"} or alias == "/":
                chain = self.chain(alias)[:-1]
                ways.add("canonical" if any(self.state(each) == COPY for each in chain) else "redirect")
            ways |= passed & {"island"}
        return ways

    def direct(self, path: str) -> set[str]:
        return {way for page in self.known if self.home(page) != self.home(path) for way in self.led(page, path)}

    def led(self, page: str, path: str) -> set[str]:
        """In which ways the statements of one page lead to a URL."""
        ways = set()
        for kind, to in self.says(page):
            if to != path:
                continue
            if page not in self.touched:
                ways |= {"island"} if kind == "click" else set()
            elif kind == "click":
                standing = {PAGE: "followed", MOVED: "redirect", COPY: "canonical"}
                ways.add(standing.get(self.state(page), "noindex"))
            else:
                ways.add({"slow": "redirect"}.get(kind, kind))
        return ways

    def depth(self) -> dict[str, int]:
        """Clicks from the start; redirects and refreshes cost none."""
        found: dict[str, int] = {}
        level, here = 0, {"/"}
        while here:
            todo = list(here)
            while todo:
                path = todo.pop()
                if path in found:
                    continue
                found[path] = level
                todo += [to for kind, to in self.says(path) if kind == "slow"]
                todo += [self.onward(path)] if self.state(path) == MOVED else []
            level += 1
            here = {to for path in found for kind, to in self.says(path) if kind == "click"} - found.keys()
        return found

    # ------------------------------------------------------------ who knows it

    def sources(self, path: str) -> set[str]:
        """Which sources name a URL, in any way that comes to it."""
        site = self.site
        every = {"sitemap": site.listed, "log": [each.target for each in site.hits]}
        every |= {"search": site.searched, "list": site.noted}
        return {name for name, urls in every.items() if any(self.comes_to(url) == path for url in urls)}

    def hits(self, path: str) -> list[Hits]:
        return [each for each in self.site.hits if self.comes_to(each.target) == path]

    # ------------------------------------------------------------ verdicts

    def doubtful(self) -> bool:
        """Whether something that the start leads to was not read."""
        led = self.touched & self.known
        if any(self.state(path) == FAILING and not self.res(path).target for path in led):
            return True
        if any(self.state(path) in (BLOCKED, REFUSED) for path in led):  # which explains why few pages are linked
            return not self.site.settings.get("trust_blocked")
        return False  # the pages have no scripts, which could make more links

    def told(self) -> Told:
        """All findings, with whether they are certain."""
        found: Told = {}
        is_sure = not self.doubtful()
        depth = self.depth()
        for path in sorted(self.known - self.copies.keys()):
            for rule in self.rules(path, depth):
                needs = rule.partition(".")[0] in ("orphan", "weak", "reach")
                found[rule, path] = is_sure or not needs
        for path in set(self.site.listed) if self.site.has_sitemap else ():
            if rule := self.entry(path):
                found[rule, path] = True
        return found

    def rules(self, path: str, depth: dict[str, int]) -> list[str]:
        state, ways = self.state(path), self.ways(path)
        if state == PAGE:
            return self.page(path, ways, depth)
        linked = self.is_clicked(path)
        if state == GONE:
            found = ["gone.linked"] if linked else []
            if self.is_missed(path):
                return [*found, "gone.visited"]
            return [*found, "gone.named"] if self.sources(path) & {"search", "list"} else found
        is_circle = self.state(self.redirected(path)) == MOVED
        if path.startswith("http:"):  # which nobody asked for
            return []
        if state != FAILING and not is_circle:
            return []
        return ["gone.failing"] if linked else ["gone.down"] if self.is_missed(path) else []

    def is_clicked(self, path: str) -> bool:
        """Whether pages link to a URL, or to what redirects to it."""
        doors = [alias for alias in self.known if path in self.trail(alias)]
        return any(
            to in doors and kind in ("click", "nofollow", "slow") and self.home(page) != self.home(path)
            for page in self.known
            for kind, to in self.says(page)
        )

    def trail(self, path: str) -> list[str]:
        """A URL and where its redirects end, if they do."""
        end = self.redirected(path)
        return [path, end] if self.state(end) != MOVED else [path]

    def page(self, path: str, ways: set[str], depth: dict[str, int]) -> list[str]:
        found = []
        sources = self.sources(path)
        if "followed" in ways and path not in self.open:  # nobody can click their way to it
            ways = ways - {"followed"} | {"island"}
        if path != self.start and "followed" not in ways:
            found.append(self.lost(ways, sources))
        elif path != self.start:
            found += ["reach.deep"] if depth.get(path, -1) > MAX_CLICKS else []
            linking = [page for page in self.known if self.home(page) != path and "followed" in self.led(page, path)]
            found += ["reach.few"] if len(linking) <= FEW else []
        has_list = bool(self.site.has_sitemap and self.site.listed)
        if has_list and "sitemap" not in sources and (path == self.start or ways - {"island"}):
            found.append("listed.missing")
        return found

    @staticmethod
    def lost(ways: set[str], sources: set[str]) -> str:
        for way in ("redirect", "canonical", "noindex", "nofollow", "head"):
            if way in ways:
                return f"weak.{way}"
        if "island" in ways:
            return "orphan.island"
        named = (f"orphan.{name}" for name in ("sitemap", "search", "log", "list") if name in sources)
        return next(named, "orphan.island")  # that pages nothing leads to name it, in whatever way

    def is_missed(self, path: str) -> bool:
        """Whether somebody misses what is gone: it was there, searchers come, or people ask more than machines."""
        hits = self.hits(path)
        if "search" in self.sources(path) or any(each.status == 200 for each in hits):
            return True
        people = sum(each.people + each.engines for each in hits)
        return people >= MIN_VISITS and people > sum(each.tools for each in hits)

    def entry(self, path: str) -> str:
        """What is wrong with an entry of the sitemap."""
        is_circle = self.state(self.redirected(path)) == MOVED
        return {
            GONE: "entry.gone",
            REFUSED: "entry.refused",
            FAILING: "entry.failed",
            MOVED: "entry.failed" if is_circle else "entry.redirect",
            NOINDEX: "entry.noindex",
            BLOCKED: "entry.blocked",
            COPY: "entry.canonical",
        }.get(self.state(path), "")
