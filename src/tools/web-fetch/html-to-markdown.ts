import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { Worker } from "node:worker_threads";
import { plainText } from "./plain-text.ts";

export interface HtmlPage {
  readonly title: string;
  readonly text: string;
}

/**
 * Converts the readable part of a page to Markdown. Runs in a thread with limited time and memory, because a malicious
 * page can take any amount of both; such a page is converted to plain text instead.
 */
export async function htmlToMarkdown(
  html: string,
  url: string,
  { signal, limitMs = 10_000 }: { readonly signal: AbortSignal; readonly limitMs?: number },
): Promise<HtmlPage> {
  const modules = modulePaths();
  const converted = modules && (await convertInThread({ html, url, modules }, { signal, limitMs }));
  return converted ?? { title: "", text: plainText(html) };
}

interface Job {
  readonly html: string;
  readonly url: string;
  readonly modules: Readonly<Record<keyof Libraries, string>>;
}

/** Resolves the packages for the thread, which can't use the `import()` of a bundle. */
function modulePaths(): Readonly<Record<keyof Libraries, string>> | undefined {
  const require = createRequire(import.meta.filename);
  const address = (path: string) => pathToFileURL(path).href;
  try {
    return {
      linkedom: address(require.resolve("linkedom")),
      readability: address(require.resolve("@mozilla/readability")),
      turndown: address(require.resolve("turndown")),
    };
  } catch {
    return undefined;
  }
}

function convertInThread(
  job: Job,
  { signal, limitMs }: { readonly signal: AbortSignal; readonly limitMs: number },
): Promise<HtmlPage | undefined> {
  return new Promise((fulfil) => {
    const worker = new Worker(threadSource, {
      eval: true,
      workerData: job,
      env: {},
      resourceLimits: { maxOldGenerationSizeMb: 256, stackSizeMb: 4 },
    });
    const done = (page: HtmlPage | undefined) => {
      clearTimeout(timer);
      signal.removeEventListener("abort", giveUp);
      fulfil(page);
      void worker.terminate();
    };
    const giveUp = () => done(undefined);
    const timer = setTimeout(giveUp, limitMs);
    signal.addEventListener("abort", giveUp, { once: true });
    worker.on("message", done);
    worker.on("error", giveUp);
    worker.on("exit", giveUp);
  });
}

interface Libraries {
  // biome-ignore lint/suspicious/noExplicitAny: linkedom's document differs from the DOM's
  linkedom: { parseHTML(html: string): { document: any } };
  readability: {
    Readability: new (
      document: unknown,
    ) => { parse(): { title?: string; content?: string; textContent?: string } | null };
  };
  turndown: {
    default: new (options: object) => { remove(names: string[]): unknown; turndown(html: string): string };
  };
}

// The thread runs the source text of this function, so the function must not use anything defined outside of it.
function convert(
  { html, url }: { html: string; url: string },
  { linkedom, readability, turndown }: Libraries,
): HtmlPage {
  const whole = /<html[\s>]/i.test(html) ? html : `<!doctype html><html><head></head><body>${html}</body></html>`;
  const { document } = linkedom.parseHTML(whole);
  for (const link of document.querySelectorAll("a[href], img[src]")) {
    const name = link.hasAttribute("href") ? "href" : "src";
    try {
      const target = new URL(link.getAttribute(name) ?? "", url);
      if (target.protocol === "http:" || target.protocol === "https:") link.setAttribute(name, target.href);
      else link.removeAttribute(name);
    } catch {
      link.removeAttribute(name);
    }
  }
  const title = (document.querySelector("title")?.textContent ?? "").replace(/\s+/g, " ").trim();
  for (const each of document.querySelectorAll("script, style, noscript, template, iframe, svg, object, embed"))
    each.remove();
  const body: string = document.body?.innerHTML ?? "";
  const article = new readability.Readability(document).parse();
  const enough = (article?.textContent ?? "").trim().length >= 250;
  const service = new turndown.default({ headingStyle: "atx", codeBlockStyle: "fenced", bulletListMarker: "-" });
  service.remove(["script", "style", "noscript", "iframe"]);
  const text = service.turndown(enough ? (article?.content ?? body) : body);
  return { title: article?.title?.trim() || title, text };
}

const threadSource = `
const { parentPort, workerData } = require("node:worker_threads");
// Some TypeScript runners wrap functions in this to keep their names.
const __name = (value) => value;
const { linkedom, readability, turndown } = workerData.modules;
Promise.all([import(linkedom), import(readability), import(turndown)]).then((libraries) => {
  const [one, two, three] = libraries;
  parentPort.postMessage((${convert.toString()})(workerData, { linkedom: one, readability: two, turndown: three }));
});
`;
