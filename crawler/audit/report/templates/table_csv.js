// Exports findings as CSV, with the columns and rules of the CSV reports: no cell starts a formula.

const LONGEST = 32_000; // characters in a cell: spreadsheets break longer ones
const UNSEEN = new RegExp(
  "[\\x00-\\x1f\\x7f-\\x9f\\xad\\u061c\\u180e\\u200b\\u200e\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ud800-\\udfff" +
    "\\ufdd0-\\ufdef\\ufeff\\ufff0-\\ufffb\\ufffe\\uffff\\u{e0000}-\\u{e00ff}\\u{e01f0}-\\u{e0fff}]",
  "gu",
);
const FORMULA =
  /^[^\p{L}\p{N}_!#-&(-~]*?[=+\-@\uff1d\uff0b\uff0d\uff20\ufe62\ufe63\ufe66\ufe6b\u207a-\u207c\u208a-\u208c\u2212]/u;
const ESCAPES = { "\t": "\\t", "\n": "\\n", "\r": "\\r" };

const LOGS = ["people", "bots"];
const SEARCH = ["clicks", "impressions"];
const ANALYTICS = ["sessions", "views", "users"];
const BACKLINKS = ["backlinks", "domains"];

// A count of a source; empty when the source does not know the URL.
function counted(name, group) {
  return (each) => (group.some((other) => each[other]) ? (each[name] ?? 0) : "");
}

const COLUMNS = [
  ["Rule", (each) => safe(each.rule)],
  ["URL", (each) => safe(each.url)],
  ["Finding", (each) => safe(each.sentence)],
  ["Conclusive", (each) => ((each.is_certain ?? true) ? "yes" : "no")],
  ["Title", (each) => safe(each.title)],
  ["State", (each) => safe(each.state)],
  ["Status", (each) => each.status ?? ""],
  ["Crawl depth", (each) => each.depth ?? ""],
  ["Pages that link to it", (each) => each.inlinks ?? 0],
  ["Link weight", (each) => Math.round((each.weight ?? 0) * 10_000) / 10_000],
  ["Known from", (each) => several(each.known)],
  ["First seen", (each) => safe(each.first)],
  ["Last seen", (each) => safe(each.last)],
  ["Visits by people", counted("people", LOGS)],
  ["Visits by bots", counted("bots", LOGS)],
  ["Search clicks", counted("clicks", SEARCH)],
  ["Search impressions", counted("impressions", SEARCH)],
  ["Sessions", counted("sessions", ANALYTICS)],
  ["Views", counted("views", ANALYTICS)],
  ["Users", counted("users", ANALYTICS)],
  ["Links from other sites", counted("backlinks", BACKLINKS)],
  ["Domains that link to it", counted("domains", BACKLINKS)],
  ["lastmod", (each) => safe(each.lastmod)],
  ["Other spellings", (each) => several(each.spellings)],
  ["Linked from", (each) => several(each.referrers?.map((by) => `${by.url} (${by.how})`))],
  ["Link it from", (each) => several(each.hubs?.map((hub) => `${hub.url} (${hub.reason})`))],
  ["Redirect it to", (each) => several(each.targets?.map((page) => `${page.url} (${page.reason})`))],
  ["Evidence", (each) => several(each.evidence)],
  ["Group", (each) => safe(each.group)],
  ["File", (each) => safe(each.file)],
  ["Line", (each) => each.line || ""],
  ["Times", (each) => each.times ?? 1],
  ["New", (each) => ({ true: "yes", false: "no" })[each.is_new] ?? ""],
  ["Found since", (each) => safe(each.since)],
  ["Certainty", (each) => safe(each.certainty ?? ((each.is_certain ?? true) ? "certain" : "inconclusive"))],
  ["Segment", (each) => safe(each.segment)],
];

function escaped(sign) {
  const code = sign.codePointAt(0).toString(16);
  const [start, width] = code.length > 4 ? ["\\U", 8] : code.length > 2 ? ["\\u", 4] : ["\\x", 2];
  return ESCAPES[sign] ?? start + code.padStart(width, "0");
}

function safe(text = "") {
  const characters = [...text.replace(UNSEEN, escaped)];
  const shown =
    characters.length > LONGEST ? `${characters.slice(0, LONGEST).join("")}…` : characters.join("");
  return FORMULA.test(text) ? `'${shown}` : shown;
}

function several(texts = []) {
  return safe(texts.join(" | "));
}

function line(cells) {
  return (
    cells.map((cell) => (typeof cell === "number" ? cell : `"${cell.replaceAll('"', '""')}"`)).join(",") +
    "\r\n"
  );
}

// A file of some rows. The byte order mark tells spreadsheets that it is UTF-8.
async function csvOf(rows, findings) {
  const lines = ["\ufeff", line(COLUMNS.map(([heading]) => heading))];
  for (const row of rows) {
    const finding = await findings.evidence(row.number);
    lines.push(line(COLUMNS.map(([, cell]) => cell(finding))));
  }
  return new Blob(lines, { type: "text/csv;charset=utf-8" });
}
