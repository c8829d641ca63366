// Listens to the form and the URL, and starts to unpack the findings.

let typing = 0;

function save(blob, name) {
  const link = make("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

// Scrolls to the top of the table when the page changes.
function turn(step) {
  const last = Math.ceil(selected.length / ROWS);
  const current = Math.min(view.page, last);
  view.page = { first: 1, previous: current - 1, next: current + 1, last }[step];
  keep();
  draw();
  explorer.scrollIntoView();
}

// Ascending, descending, none: a third press restores the order of importance.
function sortBy(key) {
  change({ sort: { [key]: `-${key}`, [`-${key}`]: "" }[view.sort ?? ""] ?? key });
}

// Moves scroll position and focus to a requested view.
function lead() {
  document.getElementById("findings-head").focus({ preventScroll: true });
  document.getElementById("findings").scrollIntoView();
}

function listen() {
  filters.addEventListener("submit", (event) => event.preventDefault());
  filters.addEventListener("reset", () =>
    setTimeout(() => change(Object.fromEntries(new FormData(filters)))),
  );
  filters.addEventListener("input", ({ target }) => {
    clearTimeout(typing);
    const wait = target.name === "search" ? 150 : 0;
    typing = setTimeout(() => change({ [target.name]: target.value }), wait);
  });
  table.tHead.addEventListener("click", ({ target }) => {
    if (target.dataset.sort) sortBy(target.dataset.sort);
    filters.elements.sort.value = view.sort ?? "";
  });
  table.tBodies[0].addEventListener("click", ({ target }) => {
    if (target.matches(".opener")) toggle(target);
  });
  explorer.querySelector(".pager").addEventListener("click", ({ target }) => {
    if (target.dataset.step) turn(target.dataset.step);
  });
  document.getElementById("export").addEventListener("click", async () => {
    save(await csvOf(selected, findings), "findings.csv");
  });
  addEventListener("hashchange", () => {
    const asked = viewOf(location.hash);
    if (!asked) return;
    show(asked);
    lead();
  });
  addEventListener("beforeprint", () => {
    for (const each of document.querySelectorAll("details")) each.open = true;
  });
}

function offer(name, counts) {
  const field = filters.elements[name];
  for (const [value, count] of counts.slice(0, 500)) {
    field.append(make("option", { value }, `${value} (${number(count)})`));
  }
}

async function start() {
  if (!("DecompressionStream" in window)) {
    told.textContent = "This browser is too old for the table of all findings.";
    return;
  }
  const asked = viewOf(location.hash);
  document.documentElement.classList.add("scripted");
  explorer.hidden = false;
  explorer.setAttribute("aria-busy", "true");
  listen();
  await findings.read(() => show(view));
  offer("section", findings.sections());
  offer("group", findings.groups());
  document.getElementById("groups").hidden = filters.elements.group.options.length < 2;
  show(view);
  explorer.removeAttribute("aria-busy");
  if (asked) lead();
}

start();
