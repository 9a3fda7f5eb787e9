import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { barriersIn, openBrowser, openPage } from "./open-browser.ts";
import { openScene, type Scene } from "./scene.ts";

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
  writeFileSync(join(scene.cwd, ".agents/agents/broken.md"), "---\nname: broken\ntools: [Read\n---\nYou try.\n");
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

const details = () => page.getByRole("region", { name: "Details" });

describe("the agents page", () => {
  it("lists the agents by source, and says which files do not load and how to fix them", async () => {
    await page.getByRole("link", { name: "Agents" }).click();
    const own = page.getByRole("navigation", { name: "This project" });
    await own.getByRole("link", { name: /price-auditor warning/ }).waitFor();
    await page
      .getByRole("navigation", { name: "Built in" })
      .getByRole("link", { name: /^Explore/ })
      .waitFor();
    await details().getByText(".agents/agents/broken.md:").first().waitFor();
    expect(await details().locator(".findings .error .severity").first().textContent()).toBe("Error");
  });

  it("explains an agent: findings with their fixes, tools, mode and cost", async () => {
    await page.getByRole("link", { name: /price-auditor/ }).click();
    await details().getByRole("heading", { name: "price-auditor" }).waitFor();
    await details().locator("h2 .color-mark.pink").waitFor();
    await page
      .getByRole("link", { name: /price-auditor/ })
      .locator(".color-mark.pink")
      .waitFor();
    const text = (await details().textContent()) ?? "";
    expect(text).toContain('Did you mean "Grep"?');
    expect(text).toContain('Add "Use when ..."');
    expect(text).toContain("acceptEdits, limited to default by its parent");
    expect(text).toContain(".agents/agents/price-auditor.md");
    const tools = details().locator(".tool-summary");
    await tools.getByText("agents at this depth can't delegate").waitFor();
    await tools.getByText("there is no such tool").waitFor();
    await details()
      .getByText(/tokens for its prompt/)
      .waitFor();
    await page.getByRole("link", { name: /^Explore/ }).press("Enter");
    await details().getByRole("heading", { name: "Explore" }).waitFor();
    // Otherwise, the rest of the list would come before the agent's details.
    expect(await page.evaluate(() => document.activeElement?.ariaLabel)).toBe("Details");
    expect(await details().getByRole("button", { name: "Edit" }).count()).toBe(0);
  });

  it("lets the user create an agent with the keyboard, and shows lint findings before the file is written", async () => {
    await page.getByRole("link", { name: "New agent" }).click();
    await expect.poll(() => page.getByLabel("Name").evaluate((field) => field === document.activeElement)).toBe(true);
    expect(await page.getByRole("link", { name: "Agents", exact: true }).getAttribute("aria-current")).toBe("page");
    const check = page.getByRole("region", { name: "Check" });
    await page.keyboard.type("../evil");
    await details().getByText(`A name can't contain ".".`).waitFor();
    await check.getByText("The definition will be checked when the name is valid.").waitFor();
    expect(await page.getByRole("button", { name: "Create agent" }).isDisabled()).toBe(true);
    await page.getByLabel("Description").fill("Stuff");
    await page.getByLabel("Name").fill("price-auditor");
    await details().locator(".hint.bad").getByText(".agents/agents/price-auditor.md already exists.").waitFor();
    expect(await page.getByRole("button", { name: "Create agent" }).isDisabled()).toBe(true);
    await page.getByLabel("Name").fill("doc-writer");
    await page.getByLabel("Tools").fill("Read, Wirte");
    await check.getByText('Did you mean "Write"?').first().waitFor();
    await check.getByText("does not begin with what the agent does").waitFor();
    // The form is kept while another page is shown, and when the page is loaded again.
    await page.getByRole("link", { name: /^Explore/ }).click();
    await details().getByRole("heading", { name: "Explore" }).waitFor();
    await page.getByRole("link", { name: "New agent" }).click();
    await page.reload();
    await expect.poll(() => page.getByLabel("Tools").inputValue()).toBe("Read, Wirte");
    await page.getByLabel("Description").fill("Writes documentation. Use after changing an API. Does not edit code.");
    await page.getByLabel("Tools").fill("Read, mcp__docs__search");
    await page.getByText("MCP tools are known only in a session").waitFor();
    expect(await check.getByText("Withheld").count()).toBe(0);
    await page.getByLabel("Tools").fill("Read, Write, Bash(git diff *)");
    await check.getByText("No problems found. The agent would load.").waitFor();
    await page.getByLabel("Tools").press("Enter");
    await details().getByRole("heading", { name: "doc-writer" }).waitFor();
    await expect.poll(() => page.evaluate(() => document.activeElement?.textContent)).toBe("doc-writer");
    const file = readFileSync(join(scene.cwd, ".agents/agents/doc-writer.md"), "utf8");
    expect(file).toContain("tools: Read, Write, Bash(git diff *)\n");
    await page.getByRole("navigation", { name: "This project" }).getByText("doc-writer").waitFor();
    expect(existsSync(join(scene.cwd, "..", "evil.md"))).toBe(false);
  });

  it("saves the user's changes to one of the project's agents", async () => {
    await details().getByRole("button", { name: "Edit" }).press("Enter");
    expect(await page.getByLabel("Definition").evaluate((field) => field === document.activeElement)).toBe(true);
    const text = await page.getByLabel("Definition").inputValue();
    await page.getByLabel("Definition").fill(text.replace("Does not edit code.", "Never edits code."));
    await page.getByRole("button", { name: "Save" }).click();
    await details().getByText("Saved. New runs use it.").waitFor();
    await details().getByText("Never edits code.").first().waitFor();
    expect(readFileSync(join(scene.cwd, ".agents/agents/doc-writer.md"), "utf8")).toContain("Never edits code.");
  });

  it("never overwrites a change that someone else has made", async () => {
    const file = join(scene.cwd, ".agents/agents/doc-writer.md");
    await details().getByRole("button", { name: "Edit" }).click();
    const text = await page.getByLabel("Definition").inputValue();
    await page.getByLabel("Definition").fill(text.replace("Never edits code.", "My words."));
    const theirs = text.replace("Never edits code.", "Their words.");
    writeFileSync(file, theirs);
    await page.getByRole("button", { name: "Save" }).click();
    const conflict = page.getByRole("alert");
    await conflict.getByText("The file has changed since you opened it.").waitFor();
    await conflict.locator(".removed", { hasText: "Their words." }).waitFor();
    await conflict.locator(".added", { hasText: "My words." }).waitFor();
    expect(readFileSync(file, "utf8")).toBe(theirs);
    // The user's text is kept, on other pages too, and can't be saved before the user has decided.
    await page.getByRole("link", { name: /^Explore/ }).click();
    await details().getByRole("heading", { name: "Explore" }).waitFor();
    await page.getByRole("link", { name: /^doc-writer/ }).click();
    await conflict.waitFor();
    expect(await page.getByLabel("Definition").inputValue()).toContain("My words.");
    expect(await page.getByRole("button", { name: "Save" }).isDisabled()).toBe(true);
    expect(await barriersIn(page)).toEqual([]);
    await page.setViewportSize({ width: 390, height: 860 });
    const overflow = await page
      .locator(".agents-page")
      .evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth);
    expect(overflow).toBe(0);
    await page.setViewportSize({ width: 1440, height: 860 });
    await page.getByRole("button", { name: "Continue with my text" }).click();
    // Another change after that decision is not overwritten either.
    writeFileSync(file, `${theirs}More of their words.\n`);
    await page.getByRole("button", { name: "Save" }).click();
    await conflict.locator(".removed", { hasText: "More of their words." }).waitFor();
    expect(readFileSync(file, "utf8")).toBe(`${theirs}More of their words.\n`);
    await page.getByRole("button", { name: "Discard it and load the file" }).click();
    expect(await page.getByLabel("Definition").inputValue()).toBe(`${theirs}More of their words.\n`);
    await page.getByLabel("Definition").fill(text.replace("Never edits code.", "Our words."));
    await page.getByRole("button", { name: "Save" }).click();
    await details().getByText("Saved. New runs use it.").waitFor();
    expect(readFileSync(file, "utf8")).toContain("Our words.");
  });

  it.each(["dark", "light"] as const)(
    "has no accessibility violations in the %s theme",
    { timeout: 120_000 },
    async (theme) => {
      await page.emulateMedia({ colorScheme: theme });
      const found: string[] = [];
      for (const width of [1440, 820, 390]) {
        await page.setViewportSize({ width, height: 860 });
        for (const hash of ["#/agents", "#/agents/price-auditor", "#/new-agent"]) {
          await page.goto(`${scene.url}/${hash}`);
          await details()
            .getByText("can be started in")
            .or(details().getByText("tokens for its prompt"))
            .or(details().getByText("Enter a name"))
            .first()
            .waitFor();
          found.push(...(await barriersIn(page)).map((each) => `${width} ${hash}: ${each}`));
          const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
          if (overflow > 0) found.push(`${width} ${hash}: ${overflow} pixels too wide`);
        }
      }
      expect(found).toEqual([]);
      expect(problems).toEqual([]);
    },
  );
});
