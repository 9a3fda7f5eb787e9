import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Locator, Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { barriersIn, openBrowser, openPage } from "./open-browser.ts";
import { openScene, type Scene, say, task } from "./scene.ts";

let browser: Awaited<ReturnType<typeof openBrowser>>;
let scene: Scene;
let page: Page;
let problems: readonly string[];
let missing: string | undefined;

/** Looks like a harmless command, but is another one. */
const HIDDEN = "touch one  \u202etxt\u202c # p\u0430ypal\ntouch two # \u05d0\u05d1\u05d2";
/** The second line, which ends with right-to-left letters. */
const SECOND = "touch two # \u05d0\u05d1\u05d2";

const answers = [
  {
    name: "many",
    match: { firstUserContains: "WORKER" },
    steps: [
      {
        times: "always" as const,
        reply: async (request: { body?: unknown }) => {
          const text = JSON.stringify(request);
          const number = /WORKER (\d+)/.exec(text)?.[1] ?? "0";
          if (text.includes("tool_result")) return { content: "Done." };
          const path = `worker-${number}`;
          return Number(number) < 4
            ? { content: [{ tool: "Bash", input: { command: `touch ${path}` } }] }
            : { content: [{ tool: "Write", input: { file_path: path, content: "one\ntwo\n" } }] };
        },
      },
    ],
  },
  {
    name: "main",
    steps: [
      say({ tool: "Bash", input: { command: "touch original" } }),
      say({ tool: "Read", input: { file_path: "src/cart/price.ts" } }),
      say({
        tool: "Edit",
        input: {
          file_path: "src/cart/price.ts",
          old_string: "Rounds a price",
          new_string: "Rounds a prize \u05d0\u05d1\u05d2",
        },
      }),
      say({ tool: "Bash", input: { command: HIDDEN } }),
      say({
        tool: "AskUserQuestion",
        input: {
          questions: [
            {
              question: "Which rounding?",
              header: "Rounding",
              options: [{ label: "Half to even" }, { label: "Half up" }],
              multiSelect: false,
            },
          ],
        },
      }),
      say(...Array.from({ length: 8 }, (_, index) => task(`worker ${index}`, `WORKER ${index}: touch a file.`))),
      { reply: { content: "All done." } },
      say({ tool: "EnterPlanMode", input: {} }),
      say({ tool: "ExitPlanMode", input: { plan: "Change nothing." } }),
      { reply: { content: "Carried out." }, times: "always" as const },
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
  ({ page, problems } = await openPage(browser));
  await page.goto(scene.link);
  await page.getByLabel("Prompt").fill("Go");
  await page.keyboard.press("Enter");
});

beforeEach(({ skip }) => {
  if (missing !== undefined) skip(missing);
});

afterAll(async () => {
  await browser?.close();
  await scene?.close();
});

const request = (title: string) => page.getByRole("group", { name: new RegExp(`^${title} of `) });
const buttons = async (): Promise<readonly string[]> =>
  (await request("Bash|Edit").first().getByRole("button").allTextContents()).map((text) => text.trim());

/** Moves the focus to a request, and waits until it can be answered. */
const focusRequest = async (title: string): Promise<void> => {
  await request(title).focus();
  await page.locator('[data-request]:focus button[aria-disabled="false"]').first().waitFor();
};

/** Describes the element that has the focus. */
const focused = () =>
  page.evaluate(() => {
    const { tagName, textContent, ariaLabel } = document.activeElement ?? document.body;
    return `${tagName} ${ariaLabel ?? textContent}`;
  });

/** Returns whether right-to-left letters are shown in the order in which a program reads them. */
const isInOrder = (element: Locator): Promise<boolean> =>
  element.evaluate((root) => {
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const node = walker.currentNode;
      const at = node.textContent?.indexOf("\u05d0") ?? -1;
      if (at === -1) continue;
      const left = (index: number): number => {
        const range = document.createRange();
        range.setStart(node, index);
        range.setEnd(node, index + 1);
        return range.getBoundingClientRect().left;
      };
      return left(at) < left(at + 2);
    }
    return false;
  });

describe("a request for approval", () => {
  it("does not take the focus from the session that was started", async () => {
    await request("Bash").waitFor();
    await expect.poll(focused).toBe("H1 shop-api / Go");
  });

  it("can only be allowed with its changes while it is being edited, and Escape discards the changes", async () => {
    await focusRequest("Bash");
    await page.keyboard.press("e");
    await page.getByLabel("New command").fill("touch edited");
    expect(await buttons()).toEqual(["Allow the edited call Ctrl ⏎", "Cancel Esc"]);
    await page.keyboard.press("Escape");
    await request("Bash").getByText("touch original", { exact: true }).first().waitFor();
    expect(await buttons()).toContain("Allow once y");
    await page.keyboard.press("e");
    await page.getByLabel("New command").fill("touch edited");
    // These keys would decide on the call as it was before the edit.
    await page.getByRole("button", { name: "Cancel" }).focus();
    for (const key of ["y", "a", "n"]) await page.keyboard.press(key);
    await page.getByLabel("New command").waitFor();
    await page.getByLabel("New command").press("Control+Enter");
    await request("Edit").waitFor();
    await expect.poll(focused).toMatch(/^SECTION Edit of main/);
    expect([existsSync(join(scene.cwd, "edited")), existsSync(join(scene.cwd, "original"))]).toEqual([true, false]);
  });

  it("shows a file change as a diff, and every string in it can be edited, the new text first", async () => {
    await request("Edit").locator(".diff .removed", { hasText: "-Rounds a price" }).waitFor();
    const added = request("Edit").locator(".diff .added", { hasText: "+Rounds a prize" });
    await added.waitFor();
    expect(await isInOrder(added)).toBe(true);
    // An answer moves the focus to the next request.
    await request("Edit").getByRole("button", { name: "Change…" }).click();
    const fields = await request("Edit").getByRole("textbox").all();
    expect(await Promise.all(fields.map((field) => field.getAttribute("aria-label")))).toEqual([
      "New new_string",
      "New file_path",
      "New old_string",
    ]);
    await page.getByLabel("New new_string").fill("Rounds the price");
    await page.getByRole("button", { name: "Allow the edited call" }).click();
    await request("Bash").waitFor();
    expect(readFileSync(join(scene.cwd, "src/cart/price.ts"), "utf8")).toContain("Rounds the price");
  });

  it("shows misleading characters wherever the call is shown", async () => {
    const exact = "touch one  \\u{202e}txt\\u{202c} # p\\u{430}ypal↵";
    const card = request("Bash").locator("pre").first();
    expect(await card.textContent()).toBe(`${exact}\n${SECOND}`);
    const rule = request("Bash").locator(".rule .exact-line");
    expect(await rule.textContent()).toBe(`Bash(${exact}${SECOND})`);
    expect(await rule.evaluate((element) => getComputedStyle(element).whiteSpaceCollapse)).toBe("preserve");
    const row = page.locator(".call", { hasText: "txt" });
    const doing = page.getByRole("treeitem").first().locator(".doing");
    for (const each of [card, rule, row.locator(".target"), doing]) expect(await isInOrder(each)).toBe(true);
    expect(await row.locator(".target").textContent()).toBe(`${exact}${SECOND}`);
    expect(await doing.textContent()).toContain(`${exact}${SECOND}`);
    await row.locator("summary").click();
    expect(await row.locator("pre").first().textContent()).toBe(`${exact}\n${SECOND}`);
    await focusRequest("Bash");
    await page.keyboard.press("e");
    expect(await request("Bash").locator(".edit pre").first().textContent()).toBe(`${exact}\n${SECOND}`);
    await page.keyboard.press("Escape");
    await page.keyboard.press("y");
  });

  it("that contains questions can be answered once every question has an answer", async () => {
    await request("Question").waitFor();
    // The card that was answered had the focus.
    await expect
      .poll(() => page.evaluate(() => document.activeElement?.getAttribute("aria-label")))
      .toMatch(/^Question/);
    const answer = request("Question").getByRole("button", { name: "Answer", exact: true });
    expect(await answer.isDisabled()).toBe(true);
    await page.getByLabel("Half to even").check();
    await answer.click();
  });

  it("is not answered by keypresses that were meant for another one", async () => {
    await page.getByText("7 more").waitFor();
    await focusRequest("Bash|Write");
    // A key that is held down.
    await request("Bash|Write").dispatchEvent("keydown", { key: "y", repeat: true });
    expect(await request("Bash|Write").getByRole("button").first().getAttribute("aria-disabled")).toBe("false");
    // A second keypress just as the next request receives the focus.
    await page.evaluate(() => {
      const onFocus = ({ target }: FocusEvent): void => {
        const key = new KeyboardEvent("keydown", { key: "y", bubbles: true });
        queueMicrotask(() => target?.dispatchEvent(key));
      };
      addEventListener("focusin", onFocus, { once: true });
    });
    await page.keyboard.press("y");
    await page.getByText("6 more").waitFor();
    await page.locator('[data-request]:focus button[aria-disabled="false"]').first().waitFor();
    await page.getByText("6 more").waitFor();
  });

  it("is shown alone if there are many, and the others are grouped by kind, with the task of each agent", async () => {
    await page.getByText("6 more").click();
    expect(await request("Bash|Write").count()).toBe(1);
    // The path in the reason does not separate requests of the same kind.
    const groups = page.locator(".similar");
    await groups.first().waitFor();
    // However many requests there are, the main agent can be stopped without scrolling.
    const stop = page.getByRole("button", { name: "Stop", exact: true });
    expect(await stop.evaluate((button) => button.getBoundingClientRect().bottom <= innerHeight)).toBe(true);
    expect(await groups.locator("> p").allTextContents()).toEqual(
      expect.arrayContaining([expect.stringMatching(/^Bash /), expect.stringMatching(/^Write .*writing the file\./)]),
    );
    expect(await groups.locator("code").allTextContents()).toContainEqual(expect.stringMatching(/^touch worker-\d$/));
    // Choosing a request moves the focus to it.
    const item = groups.first().getByRole("button").first();
    const path = await item.textContent();
    expect(path).toMatch(/^main › worker \d \(general-purpose\)$/);
    await item.press("Enter");
    await expect.poll(focused).toMatch(new RegExp(`^SECTION (Bash|Write) of ${path?.replace(/[()]/g, "\\$&")}$`));
    await page.evaluate(() => (document.activeElement as HTMLElement).blur());
    await page.keyboard.press("g");
    await page.keyboard.press("w");
    expect(await focused()).toMatch(/^SECTION (Bash|Write) of /);
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Keys" }).waitFor();
    expect(await barriersIn(page)).toEqual([]);
    await page.keyboard.press("Escape");
    const session = page.url();
    await page.getByRole("link", { name: /^Waiting for you/ }).press("Enter");
    await page.getByText("6 more").waitFor();
    await expect.poll(focused).toMatch(/^SECTION (Bash|Write) of main › worker \d/);
    await page.reload();
    await expect.poll(focused).toMatch(/^SECTION (Bash|Write) of main/);
    expect(await barriersIn(page)).toEqual([]);
    await page.goto(session);
  });

  it("can be answered together with others of its kind after a confirmation that Escape cancels", async () => {
    await page.getByText("6 more").click();
    for (const answer of ["Allow", "Deny"]) {
      const button = page.getByRole("button", { name: new RegExp(`^${answer} these \\d…`) }).first();
      await button.press("Enter");
      const dialog = page.getByRole("dialog", { name: new RegExp(`^${answer} \\d requests\\?$`) });
      await dialog.waitFor();
      expect(await focused()).toBe("BUTTON Cancel");
      await page.keyboard.press("Escape");
      await dialog.waitFor({ state: "detached" });
      expect(await focused()).toMatch(new RegExp(`^BUTTON ${answer} these`));
    }
    for (const tool of ["Bash", "Write"]) {
      const group = page.locator(".similar", { hasText: new RegExp(`^${tool}`) });
      await group.getByRole("button", { name: /^Allow these/ }).click();
      await page.getByRole("button", { name: /^Allow \d requests, once each$/ }).click();
      await group.waitFor({ state: "detached" });
    }
    await expect.poll(focused).toMatch(/^SECTION (Bash|Write) of /);
    await page.locator('[data-request]:focus button[aria-disabled="false"]').first().waitFor();
    await page.keyboard.press("y");
    await page.getByText("All done.").waitFor();
    await expect.poll(focused).toBe("H2 Waiting for you 0");
    const made = Array.from({ length: 8 }, (_, index) => existsSync(join(scene.cwd, `worker-${index}`)));
    expect(made).toEqual(Array.from({ length: 8 }, () => true));
    expect(problems).toEqual([]);
  });

  it("says which permission mode follows a plan, and the agent's details show the mode in force", async () => {
    const details = page.getByRole("region", { name: "Agent details" });
    await page.getByLabel("Message to the main agent").fill("Plan it");
    await page.keyboard.press("Enter");
    await request("ExitPlanMode").getByText("the permission mode is default: calls that no rule allows").waitFor();
    await details.getByText("plan", { exact: true }).waitFor();
    await focusRequest("ExitPlanMode");
    await page.keyboard.press("y");
    await page.getByText("Carried out.").waitFor();
    await details.getByText("default", { exact: true }).waitFor();
  });
});
