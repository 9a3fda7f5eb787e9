import { setTimeout as wait } from "node:timers/promises";
import sparticuz from "@sparticuz/chromium";
import axe from "axe-core";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";

let shared: Promise<Browser> | undefined;

/**
 * Returns the browser that all test files of this process share, because starting one takes seconds. Its `close` closes
 * only the pages that were opened with it; the browser itself ends with the process.
 */
export async function openBrowser(): Promise<Pick<Browser, "newContext" | "close">> {
  shared ??= startBrowser();
  const browser = await shared;
  const contexts: BrowserContext[] = [];
  return {
    newContext: async (options) => {
      const context = await browser.newContext(options);
      contexts.push(context);
      return context;
    },
    close: async () => {
      await Promise.all(contexts.map((context) => context.close()));
    },
  };
}

/** Starts the Chromium that npm has installed. It may connect only to this machine. */
export async function startBrowser(): Promise<Browser> {
  sparticuz.setGraphicsMode = false;
  const executablePath = await sparticuz.executablePath();
  for (let attempts = 0; ; attempts++) {
    try {
      return await launch(executablePath);
    } catch (error) {
      // Another test file may still be unpacking the program.
      if (attempts > 100 || !String(error).includes("ETXTBSY")) throw error;
      await wait(300);
    }
  }
}

function launch(executablePath: string): Promise<Browser> {
  return chromium.launch({
    executablePath,
    headless: true,
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  });
}

/** Opens a page, and collects the errors that occur in it. */
export async function openPage(
  browser: Pick<Browser, "newContext">,
  { width = 1440, height = 860, theme = "dark" }: { width?: number; height?: number; theme?: "dark" | "light" } = {},
): Promise<{ readonly page: Page; readonly problems: readonly string[] }> {
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: theme,
    reducedMotion: "reduce",
  });
  const page = await context.newPage();
  page.setDefaultTimeout(20_000);
  const problems: string[] = [];
  page.on("pageerror", (error) => problems.push(String(error)));
  page.on("console", (message) => {
    // The browser reports each lost connection; the page tells the user about it.
    if (message.type() === "error" && !/net::ERR|Failed to load resource/.test(message.text()))
      problems.push(message.text());
  });
  return { page, problems };
}

/** Returns the page's accessibility violations, one line each. */
export async function barriersIn(page: Page): Promise<readonly string[]> {
  // The page's content security policy blocks other scripts, but the browser's debugging protocol can run them.
  const session = await page.context().newCDPSession(page);
  await session.send("Runtime.evaluate", { expression: axe.source });
  const { result } = await session.send("Runtime.evaluate", {
    expression: `axe.run(document, { resultTypes: ["violations"] }).then(({ violations }) => JSON.stringify(
      violations.flatMap(({ id, nodes }) => nodes.map(({ target, failureSummary }) => id + " " + target.join(" ") + ": " + failureSummary))))`,
    awaitPromise: true,
    returnByValue: true,
  });
  await session.detach();
  return JSON.parse(String(result.value)) as string[];
}
