// Writes N entries with the npm package "sitemap", or reads files with it and prints "URLS LASTMODS".
// Usage: node npm_sitemap.cjs FOLDER_WITH_NODE_MODULES write N TARGET_FOLDER | read FILE...
"use strict";
const { createReadStream, createWriteStream } = require("node:fs");
const { createRequire } = require("node:module");
const { finished } = require("node:stream/promises");
const { createGunzip, createGzip } = require("node:zlib");

const [, , home, task, ...words] = process.argv;
const { SitemapAndIndexStream, SitemapStream, XMLToSitemapItemStream } = createRequire(`${home}/`)("sitemap");
const two = (number) => String(number).padStart(2, "0");

async function write(count, folder) {
  const index = new SitemapAndIndexStream({
    limit: 50000,
    getSitemapStream: (number) => {
      const name = `sitemap-${number}.xml.gz`;
      const stream = new SitemapStream();
      const file = stream.pipe(createGzip()).pipe(createWriteStream(`${folder}/${name}`));
      return [`https://www.example.com/${name}`, stream, file];
    },
  });
  const file = index.pipe(createWriteStream(`${folder}/sitemap-index.xml`));
  for (let i = 0; i < count; i++) {
    const day = `2026-${two(1 + (i % 12))}-${two(1 + (i % 28))}`;
    const item = {
      url: `https://www.example.com/catalog/section-${i % 97}/item-${i}.html?ref=${i % 13}&lang=en`,
      lastmod: `${day}T${two(i % 24)}:${two(i % 60)}:${two((i * 7) % 60)}Z`,
    };
    if (!index.write(item)) await new Promise((go) => index.once("drain", go));
  }
  index.end();
  await finished(file);
}

async function read(files) {
  let urls = 0;
  let dated = 0;
  for (const path of files) {
    for await (const item of createReadStream(path).pipe(createGunzip()).pipe(new XMLToSitemapItemStream())) {
      urls += 1;
      if (item.lastmod) dated += 1;
    }
  }
  process.stdout.write(`${urls} ${dated}\n`);
}

task === "write" ? write(Number(words[0]), words[1]) : read(words);
