// Prints what the npm package "sitemap" reads in files, one JSON value a line, and at last the number of its complaints.
// Usage: node sitemap_read.cjs FOLDER_WITH_NODE_MODULES urlset|index FILE...
"use strict";
const { createReadStream } = require("node:fs");
const { createRequire } = require("node:module");
const { createGunzip } = require("node:zlib");

const [, , home, kind, ...files] = process.argv;
const { XMLToSitemapItemStream, XMLToSitemapIndexStream } = createRequire(`${home}/`)("sitemap");

(async () => {
  let complaints = 0;
  for (const file of files) {
    const parser =
      kind === "index"
        ? new XMLToSitemapIndexStream({ level: "silent" })
        : new XMLToSitemapItemStream({ level: "silent" });
    const bytes = createReadStream(file);
    (file.endsWith(".gz") ? bytes.pipe(createGunzip()) : bytes).pipe(parser);
    let lines = "";
    for await (const item of parser) {
      lines += JSON.stringify(item) + "\n";
      if (lines.length > 1e6) {
        if (!process.stdout.write(lines)) await new Promise((go) => process.stdout.once("drain", go));
        lines = "";
      }
    }
    process.stdout.write(lines);
    complaints += parser.errorCount ?? parser.errors?.length ?? 0;
  }
  process.stdout.write(JSON.stringify(complaints) + "\n");
})();
