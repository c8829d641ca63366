// The markup, at most so many characters of it. Open shadow roots are laid open, as search engines do: the inner ones
// first, because a copy of an element has no shadow root.
(limit, maxRoutes, maxAddresses) => {
  const layOpen = (root) => root.querySelectorAll("*").forEach((host) => {
    if (!host.shadowRoot) return;
    layOpen(host.shadowRoot);
    const open = document.createElement("siteatlas-shadow");
    open.append(...[...host.shadowRoot.childNodes].map(node => node.cloneNode(true)));
    host.append(open);
  });
  layOpen(document);
  const doctype = document.doctype ? "<!doctype html>" : "";
  const markup = doctype + (document.documentElement ? document.documentElement.outerHTML : "");
  const hashes = [...document.querySelectorAll('a[href^="#/"], a[href^="#!"]')];
  const routes = new Set(hashes.map(link => link.getAttribute("href")));
  const part = markup.length > limit ? markup.slice(0, limit) : markup;
  const addresses = [...(globalThis.addresses ?? [])].slice(0, maxAddresses);
  return [part, markup.length, [...routes].slice(0, maxRoutes), addresses];
}
