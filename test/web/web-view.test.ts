import { dirname, join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { barriersIn, openBrowser, openPage } from "./open-browser.ts";
import { recordAgents } from "./record-agents.ts";
import { COMMAND, openScene, PROMPT, type Scene } from "./scene.ts";

// One browser and one server for all tests, which tell one story in order.
let browser: Browser;
let scene: Scene;
let page: Page;
let problems: readonly string[];

/** Why there is no browser, on a system that lacks libraries which Chromium needs. */
let missing: string | undefined;

beforeAll(async () => {
  try {
    browser = await openBrowser();
  } catch (error) {
    missing = `SKIPPED: Chromium can't be started here. ${String(error)}`;
    console.error(missing);
    return;
  }
  scene = await openScene();
  ({ page, problems } = await openPage(browser));
});

beforeEach(({ skip }) => {
  if (missing !== undefined) skip(missing);
});

afterAll(async () => {
  await browser?.close();
  await scene?.close();
});

const agent = (name: string) => page.getByRole("treeitem", { name: new RegExp(name) });
/** Returns what the tree says, without the times, which go on. */
const tree = async (): Promise<readonly string[]> =>
  (await page.getByRole("treeitem").allTextContents()).map((text) => text.replace(/\d+ s$/, ""));
const approval = (tool: string) => page.getByRole("group", { name: new RegExp(`^${tool} of `) });

describe("the web view", () => {
  it("says what to do without the token", async () => {
    const { page: other } = await openPage(browser);
    await other.goto(scene.url);
    await other.getByText("Open the link that retinue serve printed.").waitFor();
    await other.goto(`${scene.url}/?ticket=wrong`);
    await other.getByText("This link is not valid.").waitFor();
    await other.context().close();
  });

  it("opens signed in, with less than 250 KB to load and without the token in its address", async () => {
    let bytes = 0;
    page.on("response", async (response) => {
      bytes += Number(response.headers()["content-length"] ?? 0);
    });
    await page.goto(scene.link);
    await page.getByText("There are no sessions in this directory yet.").waitFor();
    expect(page.url()).toBe(`${scene.url}/`);
    expect(bytes).toBeGreaterThan(50_000);
    expect(bytes).toBeLessThan(250_000);
    const links = await page.locator("link[href], script[src]").evaluateAll((all) => all.map((each) => each.outerHTML));
    expect(links.join("\n")).not.toMatch(/https?:/);
  });

  it("starts a session and shows its agents while they work", async () => {
    await page.getByLabel("Prompt").fill(PROMPT);
    await page.getByRole("button", { name: "Options" }).click();
    await page.getByLabel("Budget in $").fill("1");
    await page.getByRole("button", { name: "Start", exact: true }).click();
    await agent("cart.*wants to edit src/cart/price.ts").waitFor();
    await agent("find rounding.*Explore.*succeeded").waitFor();
    await agent("invoices.*waiting for the model").waitFor();
    await agent("^main.*waiting for 2 agents").waitFor();
    await expect.poll(() => page.title(), { timeout: 20_000 }).toMatch(/^\(1\) Round prices .* · Retinue$/);
    await page.getByText("of $1.00").waitFor();
    expect(problems).toEqual([]);
  });

  it("answers requests with keys and buttons, and shows the whole command with its line breaks", async () => {
    await approval("Edit").focus();
    await page.keyboard.press("y");
    await approval("Bash").waitFor();
    expect((await approval("Bash").locator("pre").textContent())?.replaceAll("↵\n", "\n")).toBe(COMMAND);
    expect(await approval("Bash").locator(".reason").textContent()).toContain("this use of npm");
    await agent("cart").click();
    await page.getByText("I found the rounding in").waitFor();
    const edit = page.locator(".call", { hasText: "Edit" });
    await edit.locator("summary").click();
    await edit.locator(".removed", { hasText: "-  return Math.round(price * 100) / 100;" }).waitFor();
    await edit.locator(".added", { hasText: "+  const cents = price * 100;" }).waitFor();
    await edit.locator(".hljs-keyword", { hasText: "const" }).first().waitFor();
  });

  it("keeps prompts in a queue from which they can be withdrawn", async () => {
    await agent("^main").click();
    await page.getByLabel("Message to the main agent").fill("Then write a changelog entry.");
    await page.keyboard.press("Enter");
    const queue = page.getByLabel("Queued prompts");
    await queue.getByText("Then write a changelog entry.").waitFor();
    // It keeps its place until the change is saved.
    await queue.getByRole("button", { name: "Edit" }).click();
    await page.getByRole("textbox", { name: "Queued prompt" }).fill("Then write two entries.");
    await page.keyboard.press("Escape");
    await queue.getByText("Then write a changelog entry.").waitFor();
    await queue.getByRole("button", { name: "Edit" }).click();
    await page.getByRole("textbox", { name: "Queued prompt" }).fill("Then write two entries.");
    await queue.getByRole("button", { name: "Save" }).click();
    await queue.getByText("Then write two entries.").waitFor();
    await queue.getByRole("button", { name: "Withdraw" }).click();
    await queue.waitFor({ state: "detached" });
  });

  it("walks through the timeline with the keys, and opens turns and calls from there", async () => {
    await agent("cart").click();
    await page.getByText("I found the rounding in").waitFor();
    await page.locator(".waterfall").focus();
    await page.keyboard.press("ArrowRight");
    const bar = page.getByRole("region", { name: "Timeline of the agents" }).getByRole("status");
    await expect.poll(() => bar.textContent()).toMatch(/^cart, turn 1, .* tokens, /);
    await page.keyboard.press("ArrowRight");
    await expect.poll(() => bar.textContent()).toMatch(/^cart, Read, /);
    const call = page.locator(".call", { hasText: "Read" });
    await page.keyboard.press("Enter");
    await expect.poll(() => call.getAttribute("open")).not.toBeNull();
    // A call that is opened stays where it is.
    const edit = page.locator(".call", { hasText: "Edit" }).locator("> summary");
    const before = await edit.boundingBox();
    await edit.click();
    await edit.click();
    await page.locator(".call", { hasText: "Edit" }).locator(".diff").waitFor({ state: "detached" });
    await edit.click();
    await page.locator(".call", { hasText: "Edit" }).locator(".diff").waitFor();
    expect(Math.abs(((await edit.boundingBox())?.y ?? 0) - (before?.y ?? 0))).toBeLessThan(3);
    expect(problems).toEqual([]);
  });

  it("shows the same after a reload in the middle", async () => {
    await agent("invoices").click();
    const before = await tree();
    expect(before).toHaveLength(4);
    await page.reload();
    await approval("Bash").waitFor();
    await expect.poll(tree).toEqual(before);
    await page.getByRole("region", { name: "Details of the agent" }).getByText("main › invoices").waitFor();
  });

  it.each(["dark", "light"] as const)("has no barrier in any view, in %s", { timeout: 120_000 }, async (theme) => {
    const session = page.url();
    await page.emulateMedia({ colorScheme: theme });
    const found: string[] = [];
    for (const width of [1440, 400]) {
      await page.setViewportSize({ width, height: 860 });
      for (const url of [`${scene.url}/#/`, session, `${scene.url}/#/inbox`, `${scene.url}/#/agents`]) {
        await page.goto(url);
        await page
          .getByText("npm test -- price")
          .or(page.getByText("1 session"))
          .or(page.getByText("can be started in"))
          .first()
          .waitFor();
        found.push(...(await barriersIn(page)).map((each) => `${width} ${url}: ${each}`));
      }
    }
    await page.setViewportSize({ width: 1440, height: 860 });
    await page.goto(session);
    expect(found).toEqual([]);
  });

  it("stops one agent, denies a call with words, and shows the end", async () => {
    await page.getByRole("button", { name: "Stop", exact: true }).click();
    await agent("invoices.*stopped, can be resumed").waitFor();
    await approval("Bash").focus();
    await page.keyboard.press("n");
    await page.getByLabel("What the agent should do instead").fill("The tests run elsewhere.");
    await page.keyboard.press("Enter");
    await agent("cart.*succeeded").waitFor();
    await agent("^main").click();
    await page.getByText("Prices are now rounded").waitFor();
    await page.locator("td", { hasText: "rounds ties to the even cent" }).waitFor();
    await page.locator(".hljs-comment", { hasText: "A tie goes to the even cent." }).waitFor();
    await agent("^main.*idle").waitFor();
    await expect.poll(() => page.title()).toMatch(/^Round prices .* · Retinue$/);
    expect(problems).toEqual([]);
  });

  it("says that the connection is lost, and that the token of a new server is another one", async () => {
    await scene.stopServer();
    await page.getByText("Connection lost.").waitFor();
    const link = await scene.startServer();
    await page.getByText("The server was restarted. Open the link that it printed.").waitFor();
    await page.goto(link);
    await page.getByRole("link", { name: new RegExp(PROMPT.slice(0, 30)) }).click();
    await page.getByText("Prices are now rounded").waitFor();
    expect(await tree()).toHaveLength(4);
    await page.getByText("of $1.00").waitFor();
  });

  it("opens and closes groups of many agents with the keys", async () => {
    const home = join(dirname(scene.cwd), "home");
    await recordAgents({ home, cwd: scene.cwd, sessionId: "many", agents: 60, turns: 1 });
    await page.goto(`${scene.url}/#/session/many`);
    const cut = page.getByRole("treeitem", { name: /Explore cut by its turn limit/ });
    await cut.waitFor();
    const active = () =>
      page.getByRole("tree").evaluate((tree) => {
        const id = tree.getAttribute("aria-activedescendant") ?? "";
        return document.getElementById(id)?.textContent ?? "";
      });
    await page.getByRole("tree").focus();
    while (!(await active()).includes("Explore cut")) await page.keyboard.press("ArrowDown");
    expect(await cut.getAttribute("aria-expanded")).toBe("false");
    await page.keyboard.press("ArrowRight");
    await expect.poll(() => cut.getAttribute("aria-expanded")).toBe("true");
    await page.keyboard.press("ArrowDown");
    await expect.poll(() => page.url()).toMatch(/many\/a0/);
    await page.getByText("Review package 3.").waitFor();
    await page.keyboard.press("ArrowLeft");
    await expect.poll(active).toContain("Explore cut");
    await page.keyboard.press("Enter");
    await expect.poll(() => cut.getAttribute("aria-expanded")).toBe("false");
    expect(await barriersIn(page)).toEqual([]);
  });

  it("opens a group of many agents in the timeline with the keys", async () => {
    const failed = page.getByRole("treeitem", { name: /general-purpose failed/ });
    await page.getByRole("treeitem", { name: /^main/ }).click();
    const place = page.locator(".time-region").getByRole("status");
    await page.getByRole("group", { name: /^Timeline/ }).focus();
    do await page.keyboard.press("ArrowDown");
    while (!(await place.textContent())?.includes("general-purpose agents, failed"));
    expect(await place.textContent()).toContain("Enter shows them");
    await page.keyboard.press("Enter");
    await expect.poll(() => failed.getAttribute("aria-expanded")).toBe("true");
    await page.keyboard.press("ArrowDown");
    await expect.poll(() => place.textContent()).toContain("package 7, turn 1");
    await page.keyboard.press("Enter");
    await page.getByText("Review package 7.").waitFor();
  });

  it("says that a session was deleted", async () => {
    await page.goto(`${scene.url}/#/session/0197nothing`);
    await page.getByText("This session was deleted").waitFor();
  });
});
