// Renders the evidence of a finding as elements. All of it is inserted as text.

// An element with attributes and children; strings become text, never markup.
function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

function isolated(text) {
  return make("bdi", {}, text);
}

// A URL as a link. The text names the host that the link leads to, with invisible characters as escapes.
function linked(url, shorten = (text) => text) {
  const target = targetOf(url);
  if (!target) return isolated(visible(url));
  const isPlain = `${url}/`.startsWith(`${target.origin}/`);
  const text = shorten(visible(isPlain ? url : target.href));
  return make("a", { href: target.href, rel: "noopener noreferrer", target: "_blank" }, isolated(text));
}

function targetOf(url) {
  if (!/^https?:\/\//i.test(url)) return null;
  try {
    return new URL(url);
  } catch {
    return null; // it leads nowhere
  }
}

// Shows characters that are invisible, or that change the order of others, as their numbers.
function visible(text) {
  return text.replace(/\p{C}|(?! )\p{Z}/gu, (each) => `\\u{${each.codePointAt(0).toString(16)}}`);
}

// Shortens a URL of the site to its path, except for the start, whose path is "/", and a path that looks like a host.
function shortened(url) {
  const path = url.slice(facts.home.length);
  const isShort = facts.home.startsWith("http") && url.startsWith(`${facts.home}/`) && path !== "/";
  return isShort && !/^\/[/\\]/.test(path) ? path : url;
}

function number(value) {
  return value.toLocaleString("en");
}

function list(items) {
  return make("ul", {}, ...items.map((parts) => make("li", {}, ...parts)));
}

// The terms of a finding that have a value, each with its content.
function* terms(finding) {
  const { referrers = [], hubs = [], targets = [], evidence = [], spellings = [], known = [] } = finding;
  if (finding.title) yield ["Title", isolated(finding.title)];
  if (hubs.length)
    yield ["Link to it from", list(hubs.map((hub) => [linked(hub.url), ": ", isolated(hub.reason)]))];
  if (targets.length)
    yield ["Redirect it to", list(targets.map((page) => [linked(page.url), ": ", isolated(page.reason)]))];
  if (evidence.length) yield ["Evidence", list(evidence.map((sentence) => [isolated(sentence)]))];
  if (referrers.length)
    yield ["Linked from", list(referrers.map((page) => [linked(page.url), " (", isolated(page.how), ")"]))];
  const visits = [...visitsOf(finding)].join(", ");
  if (visits) yield ["Visits", visits];
  if (finding.first) yield ["Seen", [...new Set([finding.first, finding.last])].join(" to ")];
  if (spellings.length) yield ["Also spelled", list(spellings.map((url) => [linked(url)]))];
  if (known.length) yield ["Known from", known.join(", ")];
  if (finding.file)
    yield ["Sitemap", make("span", {}, linked(finding.file), finding.line ? `, line ${finding.line}` : "")];
  if (finding.times) yield ["Stands for", `${number(finding.times)} of its kind`];
  if (finding.segment) yield ["Segment", isolated(finding.segment)];
  if (finding.group) yield ["Island or group", isolated(finding.group)];
  if (facts.compared && finding.since)
    yield ["Found since", finding.is_new ? `${finding.since}: it is new` : finding.since];
  if (finding.state) yield ["Today", [finding.state, finding.status].filter(Boolean).join(", ")];
}

function* visitsOf(finding) {
  if (finding.people) yield `${number(finding.people)} requests by people`;
  if (finding.bots) yield `${number(finding.bots)} by bots`;
  if (finding.clicks) yield `${number(finding.clicks)} clicks in search`;
  if (finding.impressions) yield `${number(finding.impressions)} impressions in search`;
  if (finding.sessions) yield `${number(finding.sessions)} sessions`;
  if (finding.views) yield `${number(finding.views)} views`;
  if (finding.users) yield `${number(finding.users)} users`;
  if (finding.backlinks) yield `${number(finding.backlinks)} links from other sites`;
  if (finding.domains) yield `${number(finding.domains)} domains that link to it`;
}

function evidenceOf(finding) {
  const parts = [...terms(finding)].flatMap(([term, value]) => [make("dt", {}, term), make("dd", {}, value)]);
  return make(
    "div",
    { class: "inside" },
    make("p", {}, isolated(finding.sentence)),
    make("dl", {}, ...parts),
  );
}
