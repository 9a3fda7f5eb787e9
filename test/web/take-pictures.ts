// Takes screenshots of every view in both themes and at three widths: node --import tsx test/web/take-pictures.ts
// DIRECTORY

import { mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Page } from "playwright-core";
import { openPage, startBrowser } from "./open-browser.ts";
import { recordAgents } from "./record-agents.ts";
import { openScene, PROMPT } from "./scene.ts";

const directory = process.argv[2] ?? "pictures";
mkdirSync(directory, { recursive: true });
const scene = await openScene();
const browser = await startBrowser();
try {
  const { page, problems } = await openPage(browser);
  await page.goto(scene.link);
  await page.getByLabel("Prompt").fill(PROMPT);
  await page.getByRole("button", { name: "Options" }).click();
  await page.getByLabel("Budget in $").fill("1");
  await page.getByRole("button", { name: "Start", exact: true }).click();
  await page.getByRole("button", { name: /Allow once/ }).click();
  await page.getByText("npm test -- price").first().waitFor();
  const cart = page.getByRole("treeitem", { name: /cart/ });
  await cart.click();
  await page.waitForTimeout(1_500);
  const session = new URL(page.url()).hash.split("/").slice(0, 3).join("/");
  const agent = new URL(page.url()).hash;
  const agentPages = { agents: "#/agents", "agent-detail": "#/agents/price-auditor", "new-agent": "#/new-agent" };
  const home = join(dirname(scene.cwd), "home");
  await recordAgents({ home, cwd: scene.cwd, sessionId: "many", agents: 1_000, turns: 3 });
  const views = { sessions: "#/", session, agent, many: "#/session/many", inbox: "#/inbox", ...agentPages };
  const take = async (names: Readonly<Record<string, string>>): Promise<void> => {
    for (const theme of ["dark", "light"] as const) {
      await page.emulateMedia({ colorScheme: theme });
      for (const [width, height] of [
        [1440, 860],
        [860, 760],
        [400, 800],
      ] as const) {
        await page.setViewportSize({ width, height });
        for (const [name, hash] of Object.entries(names)) {
          await page.goto(`${scene.url}/${hash}`);
          await page.waitForTimeout(400);
          if (name === "new-agent") await fillAgent(page);
          if (name === "sessions") await page.getByRole("button", { name: "Options" }).click();
          await page.screenshot({ path: join(directory, `${name}-${theme}-${width}.png`) });
          if (name === "done" || name === "session" || name === "many")
            await takeUsage(page, join(directory, `${name}-usage-${theme}-${width}.png`));
          const hasTabs = (name === "session" || name === "many") && width < 1200;
          const tabs = hasTabs ? await page.locator(".regions button:visible").count() : 0;
          for (let index = 0; index < tabs; index++) {
            await page.locator(".regions button:visible").nth(index).click();
            await page.waitForTimeout(200);
            await page.screenshot({ path: join(directory, `${name}-${theme}-${width}-tab${index}.png`) });
          }
        }
      }
    }
  };
  await take(views);
  await page.setViewportSize({ width: 1440, height: 860 });
  await page.goto(`${scene.url}/${session}`);
  await page.getByRole("button", { name: /Allow once/ }).click();
  scene.finishInvoice();
  await page.getByText("Prices are now rounded").first().waitFor();
  await page.waitForTimeout(1_000);
  await take({ done: session });
  console.log(problems.length === 0 ? "No problems on the page." : problems.join("\n"));
} finally {
  await browser.close();
  await scene.close();
}

/** Fills in part of a definition, so that the result of its check is shown. */
async function fillAgent(page: Page): Promise<void> {
  await page.getByLabel("Name").fill("doc-writer");
  await page.getByLabel("Description").fill("Writes documentation. Use after changing an API.");
  await page.getByLabel("Tools").fill("Read, Wirte, Bash(git diff *)");
  await page.getByText("Did you mean").first().waitFor();
}

async function takeUsage(page: Page, path: string): Promise<void> {
  const region = page.locator('.regions button[data-for="time"]');
  if (await region.isVisible()) await region.click();
  await page.getByRole("button", { name: "Usage" }).click();
  await page.getByRole("listbox", { name: /^Turns/ }).focus();
  await page.keyboard.press("End");
  await page.screenshot({ path });
  await page.getByRole("button", { name: "Timeline" }).last().click();
  const talk = page.locator('.regions button[data-for="talk"]');
  if (await talk.isVisible()) await talk.click();
}
