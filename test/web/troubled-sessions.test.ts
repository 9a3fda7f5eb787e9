import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { barriersIn, openBrowser, openPage } from "./open-browser.ts";
import { recordAgents } from "./record-agents.ts";
import { openScene, type Scene, say } from "./scene.ts";

let browser: Awaited<ReturnType<typeof openBrowser>>;
let scene: Scene;
let page: Page;
let missing: string | undefined;

const UNSTARTED = "a00000000000z";
const LONG = "src/long.txt";
const read = { tool: "Read", input: { file_path: LONG } };

const answers = [
  {
    name: "sleeper",
    match: { firstUserContains: "SLEEP" },
    steps: [
      say("I wait.", { tool: "Bash", input: { command: "sleep 600" } }),
      { reply: { content: "Awake." }, times: "always" as const },
    ],
  },
  {
    name: "main",
    steps: [
      say("I read it.", read),
      say("And again.", read),
      { reply: { content: "Done." }, times: "always" as const },
    ],
  },
];

beforeAll(async () => {
  try {
    browser = await openBrowser();
  } catch (error) {
    missing = `SKIPPED: Chromium can't be started here. ${String(error)}`;
    console.error(missing);
    return;
  }
  scene = await openScene(answers);
  writeFileSync(join(scene.cwd, LONG), Array.from({ length: 300 }, (_, index) => `line ${index}`).join("\n"));
  ({ page } = await openPage(browser));
  await page.goto(scene.link);
});

beforeEach(({ skip }) => {
  if (missing !== undefined) skip(missing);
});

afterAll(async () => {
  await browser?.close();
  await scene?.close();
});

const home = (): string => join(dirname(scene.cwd), "home");

async function start(prompt: string): Promise<string> {
  await page.goto(`${scene.url}/#/`);
  await page.getByLabel("Prompt").fill(prompt);
  await page.keyboard.press("Enter");
  await page.waitForURL(/#\/session\//);
  return new URL(page.url()).hash.split("/")[2] ?? "";
}

describe("a session that is loading", () => {
  const part = (event: object): string => `data: ${JSON.stringify(event)}\n\n`;

  it("says what is happening and how much has loaded, and lets the user go elsewhere", async () => {
    await recordAgents({ home: home(), cwd: scene.cwd, sessionId: "many", agents: 60, turns: 1 });
    const loading = page.locator(".loading");
    const bodies = [
      part({ type: "view_loading", events: 12_400 }),
      part({
        type: "view_started",
        view: { seq: 9, running: [], approvals: [], queue: [], skipped: 0, connectedAt: 0 },
        usage: {},
        spans: {},
        agents: 1_000,
      }) + part({ type: "view_agents", agents: [{ agent: { agentId: "main" } }] }),
    ];
    let isHeld = true;
    await page.route("**/session/many/event?view=true", async (route) => {
      const body = bodies.shift();
      if (body !== undefined) await route.fulfill({ contentType: "text/event-stream", body });
      // The browser waits for the answer as long as the route does nothing.
      else if (!isHeld) await route.continue();
    });
    await page.goto(`${scene.url}/#/session/many`);
    await loading.getByText("The server is reading the transcripts: 12,400 events so far.").waitFor();
    expect(await barriersIn(page)).toEqual([]);
    await loading.getByText("1 of 1,000 agents loaded.").waitFor();
    await loading.getByText("Loading continues as soon as the server can be reached.").waitFor();
    expect(await loading.getByRole("progressbar", { name: "Agents loaded" }).getAttribute("value")).toBe("1");
    expect(await barriersIn(page)).toEqual([]);
    await loading.getByRole("link", { name: "Show the other sessions" }).click();
    await page.getByLabel("Prompt").waitFor();
    isHeld = false;
    await page.unroute("**/session/many/event?view=true");
    await page.goto(`${scene.url}/#/session/many`);
    await page.locator(".transcript").getByText("Review all 60 packages.").waitFor();
    expect(await loading.count()).toBe(0);
  });
});

describe("a session whose file is damaged", () => {
  it("is shown with what can be read, what is missing and what to do", async () => {
    await recordAgents({ home: home(), cwd: scene.cwd, sessionId: "torn", agents: 3, turns: 1 });
    const path = findFile(home(), "torn.jsonl");
    const lines = readFileSync(path, "utf8").split("\n");
    const last = JSON.parse(lines.findLast((line) => line !== "") ?? "") as Readonly<Record<string, unknown>>;
    const [id, seq] = [Number(last["id"]) + 1, Number(last["seq"]) + 1];
    const spawned = {
      type: "agent.spawned",
      callId: "c0",
      agentId: UNSTARTED,
      agentType: "Plan",
      description: "later",
    };
    lines.push(JSON.stringify({ v: 1, id: String(id), parentId: last["id"], at: last["at"], seq, ...spawned }), "");
    lines[0] = "{ damaged";
    lines[3] = lines[3]?.replace('"type":"model.requested"', '"type":"model.ended"') ?? "";
    writeFileSync(path, lines.join("\n"));
    await page.goto(`${scene.url}/#/session/torn`);
    await page.locator(".damage").getByText("Part of this session can't be read.").waitFor();
    await page.locator(".damage").getByText("Restore the session's file from a backup").waitFor();
    await page.getByRole("treeitem", { name: /package 2/ }).waitFor();
    await page
      .locator(".transcript")
      .getByText(/of [^ ]+\.jsonl can't be read/)
      .waitFor();
    expect(await page.locator(".session-head .pill").textContent()).toBe("damaged");
    expect(await barriersIn(page)).toEqual([]);

    // An agent that was waiting for a slot has no transcript.
    const loaded = page.waitForResponse(new RegExp(`/agent/${UNSTARTED}/line`));
    await page.getByRole("treeitem", { name: /later/ }).click();
    await page.locator(".transcript").getByText("Cut off before it started.").waitFor();
    await loaded;
    await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
    expect(await page.locator(".transcript").getByRole("alert").count()).toBe(0);
  });
});

describe("a call that is opened from the timeline", () => {
  it("has its first line in view, however long its output is, even if it was open before", async () => {
    await start("Read it twice");
    await page.getByText("Done.", { exact: true }).waitFor();
    const bar = page.getByRole("region", { name: "Agent timeline" }).getByRole("status");
    const openFirst = async (): Promise<void> => {
      await page.locator(".waterfall").focus();
      await page.keyboard.press("ArrowUp");
      while (!(await bar.textContent())?.includes(`Read ${LONG}`)) await page.keyboard.press("ArrowRight");
      await page.keyboard.press("Enter");
    };
    const isHeadShown = (): Promise<boolean> =>
      page.evaluate(() => {
        const log = document.querySelector(".transcript")?.getBoundingClientRect();
        const head = document.activeElement?.closest(".call summary")?.getBoundingClientRect();
        return log !== undefined && head !== undefined && head.top >= log.top && head.bottom <= log.bottom;
      });
    await openFirst();
    await page.locator(".call").first().locator(".output").waitFor();
    await expect.poll(isHeadShown).toBe(true);
    await page.keyboard.press("g");
    await page.keyboard.press("c");
    await expect.poll(() => page.evaluate(() => document.activeElement?.ariaLabel)).toBe("Conversation");
    await page.locator(".transcript").evaluate((element) => element.scrollTo(0, element.scrollHeight));
    await openFirst();
    await expect.poll(isHeadShown).toBe(true);

    // On narrow screens, the conversation takes the place of the timeline.
    await page.setViewportSize({ width: 390, height: 800 });
    await page.getByRole("navigation", { name: "Session regions" }).getByRole("button", { name: "Timeline" }).click();
    await openFirst();
    await expect.poll(isHeadShown).toBe(true);
    await page.getByRole("navigation", { name: "Session regions" }).getByRole("button", { name: "Agents" }).click();
    await page.getByRole("treeitem", { name: /^main/ }).click();
    await page.locator(".transcript").waitFor();
    await page.locator(".session-head").getByRole("button", { name: /^\$/ }).click();
    await page.getByRole("listbox", { name: /^Turns/ }).waitFor();
    expect(await barriersIn(page)).toEqual([]);
    await page.getByRole("button", { name: "Timeline" }).last().click();
    await page.setViewportSize({ width: 1440, height: 860 });
  });
});

describe("the timeline after the server crashed", () => {
  it("ends the calls that were running at the time of the crash, and marks them", async () => {
    const id = await start("SLEEP");
    await page.locator(".call", { hasText: "sleep 600" }).waitFor();
    const bar = page.getByRole("region", { name: "Agent timeline" }).getByRole("status");
    const choose = async (): Promise<string> => {
      await page.locator(".waterfall").focus();
      await page.keyboard.press("ArrowUp");
      while (!(await bar.textContent())?.includes("Bash sleep 600")) await page.keyboard.press("ArrowRight");
      return (await bar.textContent()) ?? "";
    };
    await expect.poll(choose).toContain("Bash sleep 600");
    await scene.killServer();
    await page.getByText("Connection lost.").waitFor();
    // Without a connection, nothing is known to be running.
    const frozen = await choose();
    await page.waitForTimeout(1_500);
    expect(await choose()).toBe(frozen);

    const link = await scene.startServer();
    await page.goto(link);
    await page.goto(`${scene.url}/#/session/${id}`);
    await page.getByText("Awake.").first().waitFor();
    expect(await choose()).toMatch(/Bash sleep 600, cut off when its process was lost, /);
    await page.locator(".key.lost", { hasText: "process lost" }).waitFor();
  });
});

function findFile(directory: string, name: string): string {
  const found = readdirSync(directory, { recursive: true })
    .map(String)
    .find((path) => path.endsWith(name));
  if (found === undefined) throw new Error(`There is no ${name} in ${directory}.`);
  return join(directory, found);
}
