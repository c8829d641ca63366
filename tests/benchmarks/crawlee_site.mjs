// A whole site with the adaptive crawler of Crawlee, which decides for each page whether it needs a browser. It knows
// nothing of the project.
//
//     node crawlee_site.mjs URL RESULT CONCURRENCY CHROMIUM
//
// It runs in a directory that has the packages crawlee and playwright. The handler reads what a sitemap needs: title,
// links, canonical and robots rules. It waits for a link in the content, which is how Crawlee is told that a page as
// sent is not enough.
import { writeFileSync } from "node:fs";
import { AdaptivePlaywrightCrawler, Configuration, log } from "crawlee";

const [url, result, concurrency, chromium] = process.argv.slice(2);
log.setLevel(log.LEVELS.OFF);
const pages = new Set();
const crawler = new AdaptivePlaywrightCrawler(
  {
    minConcurrency: Number(concurrency),
    maxConcurrency: Number(concurrency),
    browserPoolOptions: { useFingerprints: false },
    launchContext: { launchOptions: { executablePath: chromium, args: ["--no-sandbox", "--disable-dev-shm-usage"] } },
    async requestHandler({ request, parseWithCheerio, pushData, enqueueLinks }) {
      const $ = await parseWithCheerio("main a");
      await pushData({
        url: request.loadedUrl ?? request.url,
        title: $("title").text(),
        links: $("a[href]").map((_, link) => $(link).attr("href")).get(),
        canonical: $("link[rel=canonical]").attr("href") ?? "",
        robots: $("meta[name=robots]").attr("content") ?? "",
      });
      await enqueueLinks({ strategy: "same-origin" });
    },
  },
  new Configuration({ persistStorage: false }),
);
await crawler.run([url]);
for (const item of (await crawler.getData()).items) pages.add(item.url);
writeFileSync(result, JSON.stringify({ pages: [...pages], rendered: crawler.stats.state.browserRequestHandlerRuns }));
await crawler.teardown();
