// Unpacks the findings from the page, filters and sorts them.

const facts = JSON.parse(document.getElementById("facts").textContent);
const PIECE = facts.piece;
const OPENED = 20; // pieces of evidence that are kept unpacked

async function unpack(text) {
  const packed = atob(text);
  const bytes = new Uint8Array(packed.length);
  for (let place = 0; place < packed.length; place++) bytes[place] = packed.charCodeAt(place);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).json();
}

// Chunks hold columns, since these compress well; the table needs rows.
function* rowsOf(columns, first) {
  const names = Object.keys(columns);
  for (let place = 0; place < columns.url.length; place++) {
    const row = { number: first + place };
    for (const name of names) row[name] = columns[name][place];
    row.class = facts.rules[row.rule];
    row.sources = facts.sources.filter((_, bit) => row.known & (1 << bit));
    yield row;
  }
}

// The section of a URL, as in the report: "/shop/".
function sectionOf(url) {
  const path = /^[a-z]+:\/\/[^/?#]*([^?#]*)/i.exec(url)?.[1] ?? "";
  const end = path.indexOf("/", 1);
  return end > 0 ? path.slice(0, end + 1) : "/";
}

class Findings {
  #rows = [];
  #evidence = [...document.querySelectorAll("script.evidence")];
  #opened = new Map();

  // Reads all pieces; calls `more` whenever there are rows to show, at first very soon.
  async read(more) {
    for (const element of document.querySelectorAll("script.rows")) {
      for (const row of rowsOf(await unpack(element.textContent), this.#rows.length)) this.#rows.push(row);
      element.remove();
      if (this.#rows.length <= PIECE) more();
    }
    more();
  }

  get length() {
    return this.#rows.length;
  }

  // All that is known of the row of a number.
  async evidence(place) {
    const piece = Math.floor(place / PIECE);
    let opened = this.#opened.get(piece);
    if (!opened) {
      if (this.#opened.size >= OPENED) this.#opened.delete(this.#opened.keys().next().value);
      opened = unpack(this.#evidence[piece].textContent);
      this.#opened.set(piece, opened);
    }
    return (await opened)[place % PIECE];
  }

  // The sections that rows lie in, with their number, the largest first.
  sections() {
    return this.#counted((row) => (row.section ??= sectionOf(row.url)));
  }

  // The groups that rows belong to, such as islands, in the same way.
  groups() {
    return this.#counted((row) => row.group);
  }

  #counted(keyOf) {
    const counts = new Map();
    for (const row of this.#rows) {
      const key = keyOf(row);
      if (key) counts.set(key, (counts.get(key) ?? 0) + 1);
    }
    return [...counts].sort((one, other) => other[1] - one[1]);
  }

  // The rows that a view wants, in its order.
  select(view) {
    const tests = [...testsOf(view)];
    const rows = this.#rows.filter((row) => tests.every((test) => test(row)));
    return view.sort ? sorted(rows, view.sort) : rows;
  }
}

const CERTAINTIES = { inconclusive: 0, certain: 1, likely: 2 };

function* testsOf(view) {
  if (view.class) {
    const wanted = view.class.split(",");
    yield (row) => wanted.includes(row.class.id) || wanted.includes(row.class.group);
  }
  if (view.severity) yield (row) => row.class.severity === view.severity;
  if (view.certainty) yield (row) => row.certain === (CERTAINTIES[view.certainty] ?? 0);
  if (view.since) yield (row) => (view.since === "new" ? row.new === 1 : !row.new && row.since !== "");
  if (view.source) yield (row) => row.sources.includes(view.source);
  if (view.section) yield (row) => (row.section ??= sectionOf(row.url)) === view.section;
  if (view.segment) yield (row) => row.segment === view.segment;
  if (view.group) yield (row) => row.group === view.group;
  for (const word of (view.search ?? "").toLowerCase().split(/\s+/).filter(Boolean)) {
    yield (row) => (row.text ??= `${row.url}\n${row.title}\n${row.sentence}`.toLowerCase()).includes(word);
  }
}

// Unknown values come last in both directions.
function sorted(rows, sort) {
  const isDown = sort.startsWith("-");
  const key = isDown ? sort.slice(1) : sort;
  const sign = isDown ? -1 : 1;
  const keyOf = key === "known" ? (row) => row.sources.length : (row) => row[key];
  const isUnknown = (value) => value === null || value === "";
  return rows.sort((one, other) => {
    const [a, b] = [keyOf(one), keyOf(other)];
    if (a === b) return one.number - other.number;
    if (isUnknown(a) || isUnknown(b)) return isUnknown(a) ? 1 : -1;
    return a < b ? -sign : sign;
  });
}
