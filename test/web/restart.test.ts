import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { barriersIn, openBrowser, openPage } from "./open-browser.ts";
import { openScene, type Scene, say } from "./scene.ts";

let browser: Awaited<ReturnType<typeof openBrowser>>;
let scene: Scene;
let page: Page;
let link: string;
let missing: string | undefined;

const long = Array.from({ length: 400 }, (_, index) => `word${index}`).join(" ");

const answers = [
  {
    name: "long",
    match: { firstUserContains: "LONG" },
    steps: [{ reply: { content: `# Beginning\n\n${long}`, pacing: { chunkMs: 300, chunkCharacters: 12 } } }],
  },
  {
    name: "costly",
    match: { firstUserContains: "COSTLY" },
    steps: [
      { reply: { content: [{ tool: "Read", input: { file_path: "package.json" } }], usage: { inputTokens: 100_000 } } },
      { reply: { content: "It was worth it." }, times: "always" as const },
    ],
  },
  {
    name: "main",
    steps: [
      say("I'll read the package.", { tool: "Read", input: { file_path: "package.json" } }),
      say("Now I'll run it.", { tool: "Bash", input: { command: "touch made" } }),
      { reply: { content: "All done." }, times: "always" as const },
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
  link = scene.link;
  ({ page } = await openPage(browser));
});

beforeEach(({ skip }) => {
  if (missing !== undefined) skip(missing);
});

afterAll(async () => {
  await browser?.close();
  await scene?.close();
});

async function start(prompt: string): Promise<string> {
  await page.goto(`${scene.url}/#/`);
  await page.getByLabel("Prompt").fill(prompt);
  await page.keyboard.press("Enter");
  await page.waitForURL(/#\/session\//);
  return new URL(page.url()).hash.split("/")[2] ?? "";
}

describe("a session on the page", () => {
  it("has the whole answer that is being written, even after a reload", async () => {
    await page.goto(link);
    await start("LONG answer");
    await page.locator(".draft", { hasText: "word3" }).waitFor();
    await page.reload();
    const draft = page.locator(".draft", { hasText: "word5" });
    await draft.waitFor();
    expect(await draft.textContent()).toContain("Beginning");
    expect(await draft.locator(".heading").count()).toBe(1);
    expect(await page.getByText("The beginning was written").count()).toBe(0);
    await page.getByRole("button", { name: "Stop", exact: true }).click();
    await page.getByText("interrupted, can be resumed").first().waitFor();
    expect(await page.locator(".note.bad").count()).toBe(0);
  });

  it("can be resumed with a higher budget if it was cut by its budget", async () => {
    await page.goto(`${scene.url}/#/`);
    await page.getByRole("button", { name: "Options" }).click();
    await page.getByLabel("Budget in $").fill("0.40");
    await start("COSTLY work");
    await page.getByRole("button", { name: "Raise the budget and resume" }).click();
    const dialog = page.getByRole("dialog", { name: "Raise the budget and resume" });
    await dialog.getByLabel("New budget in $").fill("0.1");
    await dialog.getByText(/^Budget must be a number above/).waitFor();
    expect(await dialog.getByRole("button", { name: "Resume" }).isDisabled()).toBe(true);
    expect(await barriersIn(page)).toEqual([]);
    await dialog.getByLabel("New budget in $").fill("5");
    await page.keyboard.press("Enter");
    await page.getByText("It was worth it.").waitFor();
    await page.getByText("of $5.00").waitFor();
    await page.getByRole("button", { name: "Raise the budget and resume" }).waitFor({ state: "detached" });
  });

  it("stays on the page when the server is restarted, keeps unsent text, and continues with a new token", async () => {
    await start("Run it");
    const card = page.getByRole("group", { name: /^Bash of / });
    await card.waitFor();
    await page.getByLabel("Message to the main agent").fill("Not sent yet");
    await scene.stopServer();
    await page.getByText("Connection lost.").waitFor();
    const allow = card.getByRole("button", { name: /Allow once/ });
    const offline = "Not connected: nothing can be sent until the connection is back.";
    for (const button of [allow, page.getByRole("button", { name: "Resume" })]) {
      expect(await button.getAttribute("aria-disabled")).toBe("true");
      expect(await button.getAttribute("title")).toBe(offline);
    }
    await card.getByText(offline).waitFor();
    await page.getByLabel("Message to the main agent").press("Enter");
    await page.locator(".composer").getByText(offline).waitFor();
    expect(await barriersIn(page)).toEqual([]);
    link = await scene.startServer();
    await page.getByText("The server was restarted. Open the link that it printed.").waitFor();
    await page.getByText("Now I'll run it.").waitFor();
    await page.getByLabel("Message to the main agent").press("Enter");
    await page.locator(".composer").getByText("Not signed in: nothing can be sent until you open the link").waitFor();
    const other = await page.context().newPage();
    await other.goto(link);
    await page.getByText("The server was restarted.").waitFor({ state: "detached" });
    expect(await page.getByLabel("Message to the main agent").inputValue()).toBe("Not sent yet");
    await other.close();
    await page.getByRole("treeitem", { name: /wants to run: touch made/ }).waitFor();
    await page.getByText("Paused by a server restart").waitFor();
    expect(await page.getByText(/parked|continues when/).count()).toBe(0);
    await card.getByRole("button", { name: /Allow once/ }).click();
    await page.getByText("All done.").waitFor();
    expect(await page.locator(".call", { hasText: "touch made" }).locator(".outcome").textContent()).toMatch(/ms|s/);
    expect(await page.getByText("waiting for approval").count()).toBe(0);
  });

  it("says which lines of its files can't be read, and that results are lost", async () => {
    const url = page.url();
    const id = new URL(url).hash.split("/")[2] ?? "";
    await scene.stopServer();
    const path = findFile(join(dirname(scene.cwd), "home"), `${id}.jsonl`);
    const lines = readFileSync(path, "utf8").split("\n");
    const ended = lines.findIndex((line) => line.includes('"tool.ended"'));
    lines[ended] = "{ damaged";
    writeFileSync(path, lines.join("\n"));
    link = await scene.startServer();
    await page.goto(link);
    await page.goto(url);
    await page.getByText(`Line ${ended + 1} of ${id}.jsonl can't be read and was skipped.`).waitFor();
    await page.getByText("Restore the file from a backup, or continue with what is there.").waitFor();
    await page.locator(".call", { hasText: "Read" }).getByText("result lost").waitFor();
  });

  it("is shown as deleted, and can no longer be used", async () => {
    const id = new URL(page.url()).hash.split("/")[2] ?? "";
    const authorization = `Bearer ${new URL(link).hash.slice(1)}`;
    await fetch(`${scene.url}/session/${id}`, { method: "DELETE", headers: { authorization } });
    await page.getByText("This session was deleted", { exact: true }).waitFor();
    expect(await page.locator(".pill").textContent()).toBe("deleted");
    expect(await page.getByLabel("Message to the main agent").isDisabled()).toBe(true);
    await page.getByText("All done.").waitFor();
    expect(await page.getByText("GET /session").count()).toBe(0);
  });
});

function findFile(directory: string, name: string): string {
  const found = readdirSync(directory, { recursive: true })
    .map(String)
    .find((path) => path.endsWith(name));
  if (found === undefined) throw new Error(`There is no ${name} in ${directory}.`);
  return join(directory, found);
}
