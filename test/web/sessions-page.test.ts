import type { Locator, Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { barriersIn, openBrowser, openPage } from "./open-browser.ts";
import { openScene, PROMPT, type Scene } from "./scene.ts";

let browser: Awaited<ReturnType<typeof openBrowser>>;
let scene: Scene;
let page: Page;
let problems: readonly string[];
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
  scene.finishInvoice();
  ({ page, problems } = await openPage(browser));
  await page.goto(scene.link);
});

beforeEach(({ skip }) => {
  if (missing !== undefined) skip(missing);
});

afterAll(async () => {
  await browser?.close();
  await scene?.close();
});

const row = () => page.getByRole("row", { name: new RegExp(PROMPT.slice(0, 30)) });

/** Returns whether part of an element's text is not shown. */
const cutOff = (locator: Locator) =>
  locator.evaluate((element) => {
    const range = document.createRange();
    range.selectNodeContents(element);
    const [text, box] = [range.getBoundingClientRect(), element.getBoundingClientRect()];
    return text.right > box.right + 1 || text.bottom > box.bottom + 1;
  });

describe("the list of sessions", () => {
  it("explains an invalid number next to its field, and starts nothing", async () => {
    await page.getByLabel("Prompt").fill(PROMPT);
    await page.reload();
    expect(await page.getByLabel("Prompt").inputValue()).toBe(PROMPT);
    await page.getByRole("button", { name: "Options" }).click();
    await page.getByText(scene.cwd).waitFor();
    await page.getByLabel("Budget in $").fill("one");
    await page.getByLabel("Turns").fill("1.5");
    await page.getByRole("button", { name: "Start", exact: true }).click();
    await page.getByText("Budget must be a number, such as 1.50.").waitFor();
    await page.getByText("Turns must be a whole number, such as 20.").waitFor();
    expect(await page.getByLabel("Budget in $").getAttribute("aria-invalid")).toBe("true");
    expect(await page.evaluate(() => document.activeElement?.getAttribute("name"))).toBe("maxCost");
    await page.getByLabel("Budget in $").fill("1.50");
    await page.getByLabel("Turns").fill("");
    await page.getByRole("combobox", { name: /^Mode$/ }).selectOption("bypassPermissions");
    await page.getByRole("button", { name: "Start", exact: true }).click();
    await page.getByText("Prices are now rounded").waitFor();
  });

  it("shows the usage of each turn, and links each bar to its turn", { timeout: 60_000 }, async () => {
    await page.getByRole("button", { name: "Usage" }).click();
    const chart = page.getByRole("listbox", { name: /^Turns/ });
    await page.getByText(/of the input was read from the provider's cache|None of the input/).waitFor();
    expect(await chart.getByRole("option").count()).toBeGreaterThan(6);
    await chart.focus();
    await page.keyboard.press("Home");
    await page.getByRole("status").filter({ hasText: "main, turn 1:" }).waitFor();
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("Enter");
    await expect.poll(() => page.url()).toMatch(/\/session\/[^/]+\/a[0-9a-z]{12}$/);
    expect(await barriersIn(page)).toEqual([]);
    await page.setViewportSize({ width: 390, height: 800 });
    await page.getByRole("button", { name: "Timeline" }).first().click();
    expect(await barriersIn(page)).toEqual([]);
    await page.setViewportSize({ width: 1440, height: 860 });
  });

  it("has a timeline whose height can be changed by mouse and keyboard, and is remembered", async () => {
    const handle = page.getByRole("separator", { name: "Height of the timeline" });
    const height = async () => (await page.locator(".time-region").boundingBox())?.height ?? 0;
    const usual = await height();
    expect(usual).toBeGreaterThan(260);
    await handle.focus();
    await page.keyboard.press("ArrowUp");
    expect(await height()).toBe(Math.round(usual) + 24);
    expect(await handle.getAttribute("aria-valuenow")).toBe(String(await height()));
    const { x = 0, y = 0 } = (await handle.boundingBox()) ?? {};
    await page.mouse.move(x + 100, y + 4);
    await page.mouse.down();
    await page.mouse.move(x + 100, 500);
    await page.mouse.up();
    await expect.poll(height).toBe(360);
    await page.reload();
    await expect.poll(height).toBe(360);
    await handle.focus();
    await page.keyboard.press("End");
    await page.keyboard.press("ArrowUp");
    expect(await height()).toBe(480);
    expect(await barriersIn(page)).toEqual([]);
    await page.keyboard.press("Enter");
    expect(await height()).toBe(usual);
  });

  it("lists sessions with headers, cost and age, and says so if a search finds nothing", {
    timeout: 60_000,
  }, async () => {
    await page.getByRole("link", { name: "Sessions" }).click();
    expect(await page.getByLabel("Prompt").inputValue()).toBe("");
    for (const name of ["Task", "State", "Project", "Cost", "Last used"])
      await page.getByRole("columnheader", { name }).waitFor();
    await row().getByText("just now").or(row().getByText("1 min ago")).waitFor();
    await row()
      .getByText(/^<?\$0\.\d+$/)
      .waitFor();
    await page.getByLabel("Search sessions").fill("nothing like it");
    await page.getByText("No session matches nothing like it.").waitFor();
    await page.getByRole("button", { name: "Clear the search" }).click();
    for (const width of [1440, 820, 390]) {
      await page.setViewportSize({ width, height: 800 });
      expect(await page.getByText("Turns", { exact: true }).isVisible()).toBe(width > 999);
      expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0);
      expect((await row().locator(".title").boundingBox())?.width).toBeGreaterThan(200);
      expect(await cutOff(row().locator(".state"))).toBe(false);
      if (width === 820) expect(await cutOff(row().locator(".title"))).toBe(false);
      await row().getByText("shop-api").filter({ visible: true }).waitFor();
      expect(await barriersIn(page)).toEqual([]);
    }
    await page.setViewportSize({ width: 1440, height: 860 });
  });

  it("deletes a session after a confirmation", async () => {
    await row()
      .getByRole("button", { name: /^Delete the session/ })
      .focus();
    await page.keyboard.press("Enter");
    const dialog = page.getByRole("dialog", { name: "Delete this session?" });
    await dialog.waitFor();
    expect(await barriersIn(page)).toEqual([]);
    // The table's styles do not apply to the dialog.
    expect(await dialog.evaluate((element) => element.scrollWidth - element.clientWidth)).toBe(0);
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe("Delete");
    await row()
      .getByRole("button", { name: /^Delete the session/ })
      .click();
    await dialog.getByRole("button", { name: "Delete" }).click();
    await page.getByText("There are no sessions yet.").waitFor();
    await expect.poll(() => page.evaluate(() => document.activeElement?.tagName)).toBe("H1");
    expect(problems).toEqual([]);
  });
});
