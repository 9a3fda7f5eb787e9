import { dirname, join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { type Client, createClient } from "../src/client/index.ts";
import { openPage, startBrowser } from "../test/web/open-browser.ts";
import { recordAgents } from "../test/web/record-agents.ts";
import { openScene, type Scene } from "../test/web/scene.ts";
import { median } from "./client.ts";
import type { Figure } from "./figure.ts";

const EVENTS = 49_000;
const ROUNDS = 5;

/**
 * Measures the web view in Chromium. The session has 1,000 agents and about 50,000 events, and its main agent is
 * writing. The baseline of the last figure is a client that reads the same events and shows nothing.
 */
export async function webCase(): Promise<Figure[]> {
  const words = Array.from({ length: 20_000 }, (_, index) => `word${index}`).join(" ");
  const steps = [{ reply: { content: words, pacing: { chunkMs: 20, chunkCharacters: 24 } }, times: "always" as const }];
  const scene = await openScene([{ name: "main", steps }]);
  const browser = await startBrowser();
  try {
    const { page } = await openPage(browser);
    const place = { home: join(dirname(scene.cwd), "home"), cwd: scene.cwd };
    await recordAgents({ ...place, sessionId: "few", agents: 3, turns: 9 });
    await recordAgents({ ...place, sessionId: "many", agents: 1_000, turns: 9 });
    const client = createClient({ url: scene.url, token: new URL(scene.link).hash.slice(1) });
    for (const id of ["few", "many"]) await client.sessions.open(id).prompt("Write a long report.");
    await page.goto(scene.link);
    const longest = await longestTask(browser, page, () => use(page, scene));
    const times = { few: [] as number[], many: [] as number[], baseline: [] as number[] };
    for (let round = 0; round < ROUNDS; round += 1) {
      times.baseline.push(await timed(() => readEvents(client)));
      times.many.push(await timeOfReload(page, "many", scene));
      times.few.push(await timeOfReload(page, "few", scene));
    }
    const value = { baseline: 0, unit: "ms", kind: "value" as const };
    const name = "longest task of the web view with 1,000 agents and 50,000 events";
    return [
      { ...value, name, ours: Math.round(longest), limit: 100 },
      { ...value, name: "reload during a run, 3 agents", ours: Math.round(median(times.few)), limit: 1_000 },
      {
        ...value,
        name: "the same, 1,000 agents and 50,000 events",
        ours: Math.round(median(times.many)),
        limit: 1_000,
      },
      {
        name: "the same, against reading the events",
        ours: median(times.many),
        baseline: median(times.baseline),
        unit: "ms",
        limit: 0.5,
      },
    ];
  } finally {
    await browser.close();
    await scene.close();
  }
}

/** Uses every region of the page as a user would. */
async function use(page: Page, { url }: Scene): Promise<void> {
  await page.goto(`${url}/#/session/many`);
  await loaded(page);
  await page.getByRole("treeitem", { name: /Plan succeeded/ }).click();
  await page.getByRole("tree").press("End");
  await page.getByText("Review package 998.").waitFor();
  await page.getByLabel("Search agents").pressSequentially("package 77");
  await page.getByText("11 of 1,001").waitFor();
  await page.getByLabel("Search agents").fill("");
  await page.locator(".waterfall").hover();
  for (let turn = 0; turn < 10; turn += 1) await page.mouse.wheel(0, 400);
  await page.getByRole("button", { name: "Usage" }).click();
  await page.getByRole("listbox", { name: /^Turns/ }).press("End");
  await page.getByRole("button", { name: "Timeline" }).last().click();
  await page.getByRole("tree").press("Home");
  await page.locator(".draft").waitFor();
}

async function loaded(page: Page): Promise<void> {
  await page.getByRole("treeitem", { name: /^main.*writing/ }).waitFor();
  await page.getByRole("treeitem", { name: /Plan.*succeeded/ }).waitFor();
}

/** Returns the longest task of the page's main thread in milliseconds, from Chromium's trace. */
async function longestTask(browser: Browser, page: Page, work: () => Promise<void>): Promise<number> {
  await browser.startTracing(page, {
    categories: ["toplevel", "devtools.timeline", "disabled-by-default-devtools.timeline"],
  });
  await work();
  const trace = JSON.parse(String(await browser.stopTracing())) as { readonly traceEvents: readonly TraceEvent[] };
  const threads = new Set(
    trace.traceEvents
      .filter(({ name, args }) => name === "thread_name" && args?.["name"] === "CrRendererMain")
      .map(({ pid, tid }) => `${pid} ${tid}`),
  );
  const tasks = trace.traceEvents.filter(
    ({ name, pid, tid }) => /(^|::)RunTask$/.test(name) && threads.has(`${pid} ${tid}`),
  );
  if (tasks.length === 0) throw new Error("The trace has no tasks.");
  return Math.max(...tasks.map(({ dur = 0 }) => dur)) / 1_000;
}

interface TraceEvent {
  readonly name: string;
  readonly pid: number;
  readonly tid: number;
  /** Duration in microseconds. */
  readonly dur?: number;
  readonly args?: Readonly<Record<string, unknown>>;
}

/** Returns how long a reloaded page takes to show that the main agent is working and how the other agents ended. */
async function timeOfReload(page: Page, id: string, { url }: Scene): Promise<number> {
  await page.goto(`${url}/#/session/${id}`);
  await loaded(page);
  return timed(async () => {
    await page.reload({ waitUntil: "commit" });
    await loaded(page);
  });
}

async function readEvents(client: Client): Promise<void> {
  let count = 0;
  for await (const { seq } of client.sessions.open("many").events({ after: 0 }))
    if (seq !== undefined && ++count === EVENTS) return;
}

async function timed(action: () => Promise<void>): Promise<number> {
  const startedAt = performance.now();
  await action();
  return performance.now() - startedAt;
}
