import { dirname, join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { barriersIn, openBrowser, openPage } from "./open-browser.ts";
import { recordAgents, recordOutput } from "./record-agents.ts";
import { COMMAND, openScene, PROMPT, type Scene } from "./scene.ts";

// All tests share one browser and one server. Each test continues where the previous one stopped.
let browser: Awaited<ReturnType<typeof openBrowser>>;
let scene: Scene;
let page: Page;
let problems: readonly string[];

/** Reason why there is no browser: the system lacks libraries that Chromium needs. */
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
/** Returns the text of the tree without the times, which keep changing. */
const tree = async (): Promise<readonly string[]> =>
  (await page.getByRole("treeitem").allTextContents()).map((text) => text.replace(/\d+ s$/, ""));
/** Describes the element that has the focus. */
const focused = () =>
  page.evaluate(() => {
    const { tagName, textContent, ariaLabel } = document.activeElement ?? document.body;
    return `${tagName} ${ariaLabel ?? textContent}`;
  });
const approval = (tool: string) => page.getByRole("group", { name: new RegExp(`^${tool} of `) });
/** Moves the focus to a request, and waits until it can be answered. */
const focusApproval = async (tool: string): Promise<void> => {
  await approval(tool).focus();
  await page.locator('[data-request]:focus button[aria-disabled="false"]').first().waitFor();
};

describe("the web view", () => {
  it("says what to do if there is no token", async () => {
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
    await page.getByText("There are no sessions yet.").waitFor();
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
    await expect.poll(() => page.title()).toMatch(/^\(1\) Round prices .* · Retinue$/);
    await page.getByText("of $1.00").waitFor();
    expect(problems).toEqual([]);
  });

  it("shows the color of an agent's definition beside its name", async () => {
    const mark = agent("invoices").locator(".who .color-mark.purple");
    expect(await mark.evaluate((element) => getComputedStyle(element).backgroundColor)).toMatch(/^rgb\((?!0, 0, 0)/);
    expect(await mark.boundingBox()).toMatchObject({ width: 8, height: 8 });
    expect(await page.getByRole("treeitem").locator(".color-mark").count()).toBe(1);
    await agent("invoices").click();
    await page.getByRole("region", { name: "Agent details" }).locator("h2 .color-mark.purple").waitFor();
    await agent("^main").click();
  });

  it("answers requests with keys and buttons, and shows the whole command with its line breaks", async () => {
    await focusApproval("Edit");
    await page.keyboard.press("y");
    await approval("Bash").waitFor();
    expect((await approval("Bash").locator("pre").textContent())?.replaceAll("↵\n", "\n")).toBe(COMMAND);
    expect(await approval("Bash").locator(".reason").textContent()).toContain("`npm test`");
    await agent("cart").click();
    await page.getByText("I found the rounding in").waitFor();
    // Only the main agent's details can stop all agents.
    const details = page.getByRole("region", { name: "Agent details" });
    await details.getByRole("button", { name: "Move to background" }).or(details.getByText("Make its")).waitFor();
    expect(await details.getByRole("button", { name: /^Stop/ }).allTextContents()).toEqual(["Stop"]);
    const edit = page.locator(".call", { hasText: "Edit" });
    await edit.locator("summary").click();
    await edit.locator(".removed", { hasText: "-  return Math.round(price * 100) / 100;" }).waitFor();
    await edit.locator(".added", { hasText: "+  const cents = price * 100;" }).waitFor();
    await edit.locator(".hljs-keyword", { hasText: "const" }).first().waitFor();
  });

  it("keeps prompts in a queue, where they can be edited and withdrawn", async () => {
    await agent("^main").click();
    await page.getByLabel("Message to the main agent").fill("Then write a changelog entry.");
    await page.keyboard.press("Enter");
    const queue = page.getByLabel("Queued prompts");
    await queue.getByText("Then write a changelog entry.").waitFor();
    // The prompt stays in the queue until the change is saved.
    await queue.getByRole("button", { name: "Edit" }).click();
    await page.getByRole("textbox", { name: "Queued prompt" }).fill("Then write two entries.");
    await page.keyboard.press("Escape");
    await queue.getByText("Then write a changelog entry.").waitFor();
    expect(await focused()).toBe("BUTTON Edit");
    await page.getByLabel("Message to the main agent").fill("Then stop.");
    await page.keyboard.press("Enter");
    await queue.getByText("Then stop.").waitFor();
    await queue.getByRole("button", { name: "Edit" }).first().click();
    await page.getByRole("textbox", { name: "Queued prompt" }).fill("Then write two entries.");
    await queue.getByRole("button", { name: "Save" }).click();
    await queue.locator(".queued-text", { hasText: "two entries" }).waitFor();
    expect(await queue.locator(".queued-text").allTextContents()).toEqual(["Then write two entries.", "Then stop."]);
    await queue.getByRole("button", { name: "Withdraw" }).last().press("Enter");
    await queue.getByText("Then stop.").waitFor({ state: "detached" });
    await queue.getByRole("button", { name: "Withdraw" }).press("Enter");
    await queue.waitFor({ state: "detached" });
    await expect.poll(focused).toBe("TEXTAREA Message to the main agent");
  });

  it("keeps its layout with a long prompt in the queue, at any width", async () => {
    await page.getByLabel("Message to the main agent").fill("Then write a changelog entry. ".repeat(10));
    await page.keyboard.press("Enter");
    const queue = page.getByLabel("Queued prompts");
    await queue.waitFor();
    for (const width of [1440, 820, 390]) {
      await page.setViewportSize({ width, height: 860 });
      await page.getByRole("link", { name: "Sessions" }).focus();
      await page.keyboard.press("g");
      await page.keyboard.press("m");
      await expect.poll(focused).toBe("TEXTAREA Message to the main agent");
      expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0);
      const { x = 0, width: own = width } = (await queue.getByRole("button", { name: "Withdraw" }).boundingBox()) ?? {};
      expect(x + own).toBeLessThanOrEqual(width);
    }
    await page.setViewportSize({ width: 1440, height: 860 });
    await queue.getByRole("button", { name: "Withdraw" }).click();
    await queue.waitFor({ state: "detached" });
  });

  it("changes the mode in a dialog, and asks before it stops several agents", async () => {
    const details = page.getByRole("region", { name: "Agent details" });
    await details.getByRole("button", { name: "Mode and model…" }).press("Enter");
    const dialog = page.getByRole("dialog", { name: "Mode and model" });
    await dialog.locator("select").selectOption("acceptEdits");
    expect(await barriersIn(page)).toEqual([]);
    await dialog.getByRole("button", { name: "Change" }).press("Enter");
    await details.getByText("The permission mode is now acceptEdits.").waitFor();
    await details.getByText("acceptEdits", { exact: true }).waitFor();
    expect(await focused()).toBe("BUTTON Mode and model…");
    await details.getByRole("button", { name: "Stop all agents…" }).press("Enter");
    await page.getByRole("dialog", { name: "Stop all agents?" }).waitFor();
    expect(await focused()).toBe("BUTTON Cancel");
    await page.keyboard.press("Escape");
    expect(await focused()).toBe("BUTTON Stop all agents…");
    await agent("invoices.*waiting for the model").waitFor();
  });

  it("lets keyboard users skip the navigation", async () => {
    await page.reload();
    await agent("^main").waitFor();
    await page.keyboard.press("Tab");
    expect(await focused()).toBe("BUTTON Skip to the content");
    await page.keyboard.press("Tab");
    expect(await focused()).toBe("BUTTON Write a message");
    await page.keyboard.press("Shift+Tab");
    await page.keyboard.press("Enter");
    await expect.poll(focused).toMatch(/^H1 shop-api \/ Round prices/);
    await page.keyboard.press("Tab");
    expect(await focused()).toMatch(/^BUTTON \$.* of \$1\.00$/);
    await page.keyboard.press("Tab");
    expect(await focused()).toBe("DIV Agents");
  });

  it("moves through the timeline with the keyboard, and opens turns and calls from there", async () => {
    await agent("cart").click();
    await page.getByText("I found the rounding in").waitFor();
    await page.locator(".waterfall").focus();
    await page.keyboard.press("ArrowRight");
    const bar = page.getByRole("region", { name: "Agent timeline" }).getByRole("status");
    await expect.poll(() => bar.textContent()).toMatch(/^cart, turn 1, .* tokens, /);
    await page.keyboard.press("ArrowRight");
    await expect.poll(() => bar.textContent()).toMatch(/^cart, Read src\/cart\/price\.ts, /);
    const call = page.locator(".call", { hasText: "Read" });
    // The tip also shows sighted users what was chosen, and stays in place when the timeline is zoomed.
    const tip = page.locator(".tip");
    await tip.getByText("Read src/cart/price.ts").waitFor();
    const legend = page.locator(".time-head");
    const height = (await legend.boundingBox())?.height;
    await page.keyboard.press("+");
    await page.getByRole("button", { name: "Show all" }).waitFor();
    const place = await tip.boundingBox();
    for (const _ of [1, 2]) await page.keyboard.press("+");
    expect(Math.abs(((await tip.boundingBox())?.x ?? 0) - (place?.x ?? 0))).toBeLessThan(2);
    expect((await legend.boundingBox())?.height).toBe(height);
    await page.keyboard.press("0");
    await page.keyboard.press("Enter");
    await expect.poll(() => call.getAttribute("open")).not.toBeNull();
    // Opening a call must not move it on the page.
    const edit = page.locator(".call", { hasText: "Edit" }).locator("> summary");
    // The call that was opened above may still be growing.
    let before: number | undefined;
    const isStill = async (): Promise<boolean> => {
      const y = (await edit.boundingBox())?.y;
      const isSame = y !== undefined && y === before;
      before = y;
      return isSame;
    };
    await expect.poll(isStill).toBe(true);
    await edit.click();
    await edit.click();
    await page.locator(".call", { hasText: "Edit" }).locator(".diff").waitFor({ state: "detached" });
    await edit.click();
    await page.locator(".call", { hasText: "Edit" }).locator(".diff").waitFor();
    expect(Math.abs(((await edit.boundingBox())?.y ?? 0) - (before ?? 0))).toBeLessThan(3);
    expect(problems).toEqual([]);
  });

  it("opens another agent's turn or call from the timeline, with the focus on it", async () => {
    const isVisible = () =>
      page.evaluate(() => {
        const log = document.querySelector(".transcript")?.getBoundingClientRect();
        const shown = document.activeElement?.getBoundingClientRect();
        return log !== undefined && shown !== undefined && shown.top >= log.top && shown.bottom <= log.bottom;
      });
    const bar = page.getByRole("region", { name: "Agent timeline" }).getByRole("status");
    await page.locator(".waterfall").focus();
    await page.keyboard.press("ArrowUp");
    while (!(await bar.textContent())?.startsWith("find rounding, turn 3")) await page.keyboard.press("ArrowRight");
    await page.keyboard.press("Enter");
    await page.getByText("is the only place that rounds.").waitFor();
    await expect.poll(() => page.evaluate(() => document.activeElement?.className)).toBe("turn-mark");
    expect(await isVisible()).toBe(true);
    await page.locator(".waterfall").focus();
    await page.keyboard.press("ArrowDown");
    while (!(await bar.textContent())?.startsWith("cart, Edit")) await page.keyboard.press("ArrowRight");
    await page.keyboard.press("Enter");
    await page.locator(".call", { hasText: "Edit" }).locator(".diff").waitFor();
    await expect.poll(() => page.evaluate(() => document.activeElement?.textContent)).toContain("Edit");
    await expect.poll(isVisible).toBe(true);
  });

  it("shows the same content after a reload in the middle of a run, with the unsent message to each agent", async () => {
    await agent("^main").click();
    await page.getByLabel("Message to the main agent").fill("For main");
    await agent("invoices").click();
    await page.getByLabel("Message to invoices").fill("For invoices");
    const before = await tree();
    expect(before).toHaveLength(4);
    await page.reload();
    await approval("Bash").waitFor();
    await expect.poll(tree).toEqual(before);
    await page.getByRole("region", { name: "Agent details" }).getByText("main › invoices").waitFor();
    expect(await page.getByLabel("Message to invoices").inputValue()).toBe("For invoices");
    await page.getByLabel("Message to invoices").fill("");
    await agent("^main").click();
    expect(await page.getByLabel("Message to the main agent").inputValue()).toBe("For main");
    await page.getByLabel("Message to the main agent").fill("");
    await agent("invoices").click();
  });

  it.each(["dark", "light"] as const)(
    "has no accessibility violations in any view, in the %s theme",
    { timeout: 120_000 },
    async (theme) => {
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
    },
  );

  it("stops one agent, denies a call with a message, and shows how the session ended", async () => {
    await page.getByRole("button", { name: "Stop", exact: true }).click();
    await agent("invoices.*stopped, can be resumed").waitFor();
    await focusApproval("Bash");
    await page.keyboard.press("n");
    await page.getByLabel("What the agent should do instead").fill("The tests run elsewhere.");
    await page.keyboard.press("Enter");
    await agent("cart.*succeeded").waitFor();
    await agent("^main").click();
    await page.getByText("Prices are now rounded").waitFor();
    await page.locator("td", { hasText: "rounds ties to the even cent" }).waitFor();
    await page.locator(".hljs-comment", { hasText: "A tie goes to the even cent." }).waitFor();
    await agent("^main.*succeeded").waitFor();
    await page.locator(".call summary", { hasText: /^–Task.*stopped, can be resumed/ }).waitFor();
    await expect.poll(() => page.title()).toMatch(/^Round prices .* · Retinue$/);
    expect(problems).toEqual([]);
  });

  it("links a changed file to its diff, even if another agent has changed it, and a cost to its turns", async () => {
    const details = page.getByRole("region", { name: "Agent details" });
    await details.getByRole("button", { name: "src/cart/price.ts" }).press("Enter");
    await page.locator(".call", { hasText: "Edit" }).locator(".diff").waitFor();
    await expect.poll(() => page.evaluate(() => document.activeElement?.textContent)).toContain("Edit");
    await details.getByText("main › cart").waitFor();
    await details.getByRole("button", { name: /^\$/ }).press("Enter");
    await page.getByRole("listbox", { name: /^Turns/ }).waitFor();
    expect(await barriersIn(page)).toEqual([]);
    await page.getByRole("button", { name: "Timeline" }).last().click();
    await agent("^main").click();
  });

  it("says that the connection is lost, and that a new server has a different token", async () => {
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

  it("opens and closes groups of many agents with the keyboard", async () => {
    const home = join(dirname(scene.cwd), "home");
    await recordAgents({ home, cwd: scene.cwd, sessionId: "many", agents: 60, turns: 1 });
    await page.goto(`${scene.url}/#/session/many`);
    const cut = page.getByRole("treeitem", { name: /Explore cut by its turn limit/ });
    await cut.waitFor();
    const [words, cost] = [cut.locator(".doing"), cut.locator(".number").last()];
    const [left, right] = [await words.boundingBox(), await cost.boundingBox()];
    expect((left?.x ?? 0) + (left?.width ?? 0)).toBeLessThanOrEqual(right?.x ?? 0);
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

  it("opens a group of many agents in the timeline with the keyboard", async () => {
    const failed = page.getByRole("treeitem", { name: /general-purpose failed/ });
    await page.getByRole("treeitem", { name: /^main/ }).click();
    const place = page.locator(".time-region").getByRole("status");
    await page.getByRole("group", { name: /^Timeline/ }).focus();
    do await page.keyboard.press("ArrowDown");
    while (!(await place.textContent())?.includes("general-purpose agents, failed"));
    expect(await place.textContent()).toContain("Enter shows the agents");
    await page.keyboard.press("Enter");
    await expect.poll(() => failed.getAttribute("aria-expanded")).toBe("true");
    await page.keyboard.press("ArrowDown");
    await expect.poll(() => place.textContent()).toContain("package 7, turn 1");
    await page.keyboard.press("Enter");
    await page.getByText("Review package 7.").waitFor();
  });

  it("shows a 50 MB output in parts, and adds one each time the user asks for more", async () => {
    const output = `${"a line of the output, with a few words\n".repeat(1_300_000)}The end.`;
    await recordOutput({ home: join(dirname(scene.cwd), "home"), cwd: scene.cwd }, output);
    await page.goto(`${scene.url}/#/session/output`);
    await page.locator(".call summary").click();
    await page.getByRole("button", { name: "Load the whole output" }).click();
    await expect.poll(focused).toMatch(/^PRE a line of the output/);
    const more = page.getByRole("button", { name: /^Show 50,000 of [\d,]+ more characters$/ });
    await more.click();
    const whole = page.locator("pre.output").last();
    await expect.poll(() => whole.locator("div").count()).toBe(2);
    const shown = (await whole.textContent()) ?? "";
    expect(shown.length).toBeGreaterThan(99_000);
    expect(output.startsWith(shown)).toBe(true);
    const [file] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Save as main_1_0.txt" }).click(),
    ]);
    expect(file.suggestedFilename()).toBe("main_1_0.txt");
    expect(problems).toEqual([]);
  });

  it("says that the server has no session with the id in a link", async () => {
    await page.goto(`${scene.url}/#/session/0197nothing`);
    await page.getByText("There is no session with this id on this server").waitFor();
    await page.getByText("It may have been deleted, or another server has it.").waitFor();
    expect(await page.getByText("was deleted").count()).toBe(0);
  });
});
