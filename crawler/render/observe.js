// Notes in each page when it changed last, and which addresses its scripts give it.
(() => {
  globalThis.changed = performance.now();
  globalThis.addresses = new Set();
  const attributeFilter = ["href", "src", "srcset", "content", "rel", "hreflang", "poster", "datetime", "name"];
  new MutationObserver(() => { changed = performance.now(); })
    .observe(document, {subtree: true, childList: true, characterData: true, attributeFilter});
  // A visitor would lose the page to an empty one, to one that the script has made, or to an error of the browser.
  navigation.addEventListener("navigate", (event) => {
    const url = event.destination.url;
    if (!/^https?:/.test(url) || !URL.canParse(url)) event.preventDefault();
    // history.pushState or replaceState; a router that only adds parameters shows the same page
    else if (event.destination.sameDocument && new URL(url).pathname !== location.pathname) addresses.add(url);
  });
})()
