import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { Worker } from "node:worker_threads";
import {
  backgroundOf,
  isHiddenElement,
  type ReadAttribute,
  readStyleSheet,
  resolveVariables,
} from "./hidden-element.ts";
import { plainText } from "./plain-text.ts";

export interface HtmlPage {
  readonly title: string;
  readonly text: string;
}

/**
 * Converts the readable part of a page to Markdown. Leaves out text that attributes, inline styles or simple rules in
 * the page's own style sheets hide from visitors. Runs in a worker thread with limited time and memory, because a
 * malicious page can use any amount of both. A page that exceeds the limits is converted to plain text instead.
 */
export async function htmlToMarkdown(
  html: string,
  url: string,
  { signal, limitMs = 10_000 }: { readonly signal: AbortSignal; readonly limitMs?: number },
): Promise<HtmlPage> {
  const modules = modulePaths();
  const converted = modules && (await convertInThread({ html, url, modules }, { signal, limitMs }));
  return converted ?? { title: "", text: plainText(html.slice(0, MAX_PLAIN)) };
}

/** Maximum length of HTML to convert to plain text. Converting more would keep the process busy for seconds. */
const MAX_PLAIN = 2_000_000;

interface Job {
  readonly html: string;
  readonly url: string;
  readonly modules: Readonly<Record<keyof Libraries, string>>;
}

/** Resolves the packages for the worker thread, which can't use the `import()` of a bundle. */
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

/** Functions that also exist in the worker thread, under the same names. */
interface Judges {
  isHiddenElement: typeof isHiddenElement;
  backgroundOf: typeof backgroundOf;
  resolveVariables: typeof resolveVariables;
  readStyleSheet: typeof readStyleSheet;
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

// The worker thread runs the source text of this function, so the function must not use anything defined outside of it.
function convert(
  { html, url }: { html: string; url: string },
  { linkedom, readability, turndown }: Libraries,
  judges: Judges,
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
  const isStyled = document.querySelector("style, link[rel~=stylesheet]") !== null;
  type Sheet = { textContent: string; getAttribute(name: string): string | null; closest(selector: string): unknown };
  const sheets = ([...document.querySelectorAll("style")] as Sheet[]).filter(
    (sheet) => !/print/i.test(sheet.getAttribute("media") ?? "") && sheet.closest("noscript, template") === null,
  );
  const declarationsFor = judges.readStyleSheet(sheets.map((sheet) => sheet.textContent).join("\n"));
  const unseen =
    "script, style, noscript, noframes, template, iframe, svg, object, embed, video, audio, canvas, datalist, annotation, annotation-xml, dialog:not([open])";
  for (const each of document.querySelectorAll(unseen)) each.remove();
  // A page without a style sheet has a white background.
  const backgrounds = new Map<unknown, string | undefined>([[null, isStyled ? undefined : "white"]]);
  const variables = new Map<unknown, ReadonlyMap<string, string>>();
  for (const each of document.querySelectorAll("*")) {
    const attributes = [...each.attributes].reverse() as { name: string; value: string }[];
    const values = new Map(attributes.map(({ name, value }) => [name.toLowerCase(), value]));
    const classes = (values.get("class") ?? "").split(/\s+/).filter((name) => name !== "");
    const declared = declarationsFor({ tag: each.localName, id: values.get("id") ?? "", classes });
    const known = variables.get(each.parentElement) ?? new Map<string, string>();
    const resolved = judges.resolveVariables(`${declared};${values.get("style") ?? ""}`, known);
    values.set("style", resolved.style);
    variables.set(each, resolved.variables);
    const read: ReadAttribute = (name) => values.get(name);
    const behind = backgrounds.get(each.parentElement ?? null);
    const own = judges.backgroundOf(read) ?? (isStyled && values.has("class") ? undefined : behind);
    backgrounds.set(each, own);
    const isDot = each.localName === "img" && ["width", "height"].some((side) => /^[01](px)?$/.test(read(side) ?? ""));
    if (each.localName !== "html" && each.localName !== "body" && (isDot || judges.isHiddenElement(read, own)))
      each.remove();
  }
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
// Some TypeScript runners wrap functions in __name to keep their names.
const __name = (value) => value;
const judges = {
  isHiddenElement: ${isHiddenElement.toString()},
  backgroundOf: ${backgroundOf.toString()},
  resolveVariables: ${resolveVariables.toString()},
  readStyleSheet: ${readStyleSheet.toString()},
};
const { linkedom, readability, turndown } = workerData.modules;
Promise.all([import(linkedom), import(readability), import(turndown)]).then((libraries) => {
  const [one, two, three] = libraries;
  parentPort.postMessage((${convert.toString()})(workerData, { linkedom: one, readability: two, turndown: three }, judges));
});
`;
