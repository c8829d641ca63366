// Renders the table. The fragment of the URL keeps its view: filters, order and page.

const ROWS = 100; // on one page of the table
const explorer = document.getElementById("explorer");
const filters = document.getElementById("filters");
const FIELDS = ["search", "class", "severity", "certainty", "since", "source", "section", "segment", "group", "sort"].filter(
  (name) => name in filters.elements, // that of the comparison is there only if there was an audit before
);
const told = document.getElementById("told");
const table = document.getElementById("table");
const findings = new Findings();
let view = viewOf(location.hash) ?? { page: 1 };
let selected = [];

// The view of a fragment, or null if it names a part of the page.
function viewOf(fragment) {
  const asked = new URLSearchParams(fragment.slice(1));
  const fields = FIELDS.filter((name) => asked.get(name)).map((name) => [name, asked.get(name)]);
  const page = Math.max(1, Number.parseInt(asked.get("page"), 10) || 1);
  return fields.length || asked.has("page") ? { ...Object.fromEntries(fields), page } : null;
}

function keep() {
  const fields = Object.entries(view).filter(([name, value]) => value && !(name === "page" && value === 1));
  const fragment = new URLSearchParams(fields).toString();
  history.replaceState(null, "", fragment ? `#${fragment}` : location.pathname + location.search);
}

// A cell. A phone shows its name instead of the table head, and hides empty cells.
function cell(key, name, ...children) {
  const isEmpty = !children.length || !children[0];
  const shown = isEmpty ? ["–"] : children;
  const made = make("td", { role: "cell", class: isEmpty ? `${key} none` : key }, ...shown);
  if (name) made.dataset.name = name;
  return made;
}

function rowOf(row) {
  const id = `evidence-${row.number}`;
  const opener = make("button", {
    type: "button",
    class: "opener",
    "aria-expanded": "false",
    "aria-controls": id,
  });
  opener.setAttribute("aria-label", `Evidence for ${row.url}`);
  opener.dataset.number = row.number;
  const page = make("div", {}, linked(row.url, shortened));
  const said = (row.class.alike && row.title) || row.sentence;
  page.append(make("div", { class: "quiet said" }, isolated(said)));
  const rule = [
    make("span", { class: `badge ${row.class.severity}` }, row.class.severity),
    " ",
    row.class.title,
  ];
  if (row.certain !== 1) rule.push(" ", make("span", { class: "open" }, row.certain ? "likely" : "inconclusive"));
  const today = [row.state, row.status].filter(Boolean).join(" ");
  const cells = [
    cell("url row", "", make("div", { class: "page" }, opener, page)),
    cell("rule row", "", ...rule),
    cell("state", "Today", today),
    cell("depth", "Crawl depth", row.depth === null ? "" : number(row.depth)),
    cell("inlinks", "Inlinks", number(row.inlinks)),
    cell("weight", "Link weight", row.weight ? row.weight.toFixed(2) : ""),
    cell("visits", "Visits or clicks", row.visits ? number(row.visits) : ""),
    cell("lastmod", "lastmod", row.lastmod.slice(0, 10)),
    cell("known", "Known from", row.sources.join(", ")),
  ];
  if (facts.compared) {
    cells.push(cell("since", "Since", row.new ? make("span", { class: "badge new" }, "new") : row.since));
  }
  return make("tr", { role: "row", class: "finding" }, ...cells);
}

function draw() {
  const pages = Math.max(1, Math.ceil(selected.length / ROWS));
  const current = Math.min(view.page, pages); // not all pages are there as long as findings are read
  const shown = selected.slice((current - 1) * ROWS, current * ROWS);
  table.tBodies[0].replaceChildren(...shown.map(rowOf));
  const of = selected.length === findings.length ? "" : ` of ${number(findings.length)}`;
  told.textContent = selected.length
    ? `${number(selected.length)}${of} findings`
    : "No finding matches.";
  document.getElementById("page").textContent = `Page ${number(current)} of ${number(pages)}`;
  for (const button of explorer.querySelectorAll("[data-step]")) {
    button.disabled = current === { first: 1, previous: 1, next: pages, last: pages }[button.dataset.step];
  }
  for (const button of table.querySelectorAll("[data-sort]")) {
    const key = button.dataset.sort;
    const order = view.sort === key ? "ascending" : view.sort === `-${key}` ? "descending" : "none";
    button.parentElement.setAttribute("aria-sort", order);
  }
}

function select() {
  selected = findings.select(view);
  draw();
}

// Shows a view that comes from the URL.
function show(next) {
  view = next;
  for (const name of FIELDS) {
    const field = filters.elements[name];
    const value = view[name] ?? "";
    if (field.tagName === "SELECT" && ![...field.options].some((option) => option.value === value)) {
      field.append(make("option", { value }, value.includes(",") ? "Several" : value));
    }
    field.value = value;
  }
  select();
}

function change(changes) {
  view = { ...view, page: 1, ...changes };
  keep();
  select();
}

async function toggle(opener) {
  const row = opener.closest("tr");
  const isOpen = opener.getAttribute("aria-expanded") === "true";
  opener.setAttribute("aria-expanded", String(!isOpen));
  if (isOpen) {
    document.getElementById(opener.getAttribute("aria-controls")).remove();
    return;
  }
  const inside = make("td", { role: "cell", colspan: row.cells.length });
  row.after(make("tr", { role: "row", class: "opened", id: opener.getAttribute("aria-controls") }, inside));
  inside.append(evidenceOf(await findings.evidence(Number(opener.dataset.number))));
}
