// Writes the items on standard input, one JSON value a line, with the npm package "sitemap": shards and their index.
// Usage: node sitemap_write.cjs FOLDER_WITH_NODE_MODULES TARGET_FOLDER BASE_URL ITEMS_PER_FILE [gz]
"use strict";
const { createWriteStream } = require("node:fs");
const { createRequire } = require("node:module");
const { createInterface } = require("node:readline");
const { finished } = require("node:stream/promises");
const { createGzip } = require("node:zlib");

const [, , home, target, base, limit, suffix] = process.argv;
const { SitemapAndIndexStream, SitemapStream } = createRequire(`${home}/`)("sitemap");

(async () => {
  const index = new SitemapAndIndexStream({
    limit: Number(limit),
    level: "throw",
    getSitemapStream: (number) => {
      const name = `sitemap-${number}.xml` + (suffix ? `.${suffix}` : "");
      const stream = new SitemapStream({ level: "throw" });
      const packed = suffix ? stream.pipe(createGzip()) : stream;
      return [new URL(name, base).toString(), stream, packed.pipe(createWriteStream(`${target}/${name}`))];
    },
  });
  const file = index.pipe(createWriteStream(`${target}/sitemap-index.xml`));
  for await (const line of createInterface({ input: process.stdin })) {
    if (!index.write(JSON.parse(line))) await new Promise((go) => index.once("drain", go));
  }
  index.end();
  await finished(file);
})();
