import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import type { ReplyPart } from "../../src/testing/index.ts";
import { openBrowser } from "./open-browser.ts";
import { openScene, type Scene, say, task } from "./scene.ts";

/** A server elsewhere, to which the page must send nothing. */
let elsewhere: Server;
/** Requests that arrived there. */
const arrived: string[] = [];
/** Requests of the page to other origins than its own. */
const left: string[] = [];
/** Arguments with which scripts in the content called the canary. */
const called: unknown[] = [];
let browser: Awaited<ReturnType<typeof openBrowser>>;
let scene: Scene;
let page: Page;
let missing: string | undefined;
let attack: string;

const FILE = `"><img src=x onerror=canary('file')>.txt`;

/** Returns markdown and HTML that try to run a script or to send a request, each in another way. */
function attacks(url: string): string {
  return `mark-of-the-attack <script>canary('script')</script> <img src="${url}/img" onerror="canary('img')">
<svg onload="canary('svg')"><image href="${url}/svg"/><use href="data:image/svg+xml,<svg/>#x"/></svg>
<iframe srcdoc="<script>parent.canary('srcdoc')</script>"></iframe><object data="${url}/object"></object>
<math><mtext><style><img src=x onerror=canary('math')></style></mtext></math><base href="${url}/">
<link rel="stylesheet" href="${url}/css"><meta http-equiv="refresh" content="0;url=${url}/meta">
"><b onmouseover=canary('attribute')>b</b> ' onfocus=canary('quote') autofocus x='

[a](javascript:canary('a')) [b](JaVaScRiPt:canary('b')) [c](java&#x0a;script:canary('c')) [d](&#106;avascript:canary('d'))
[e](data:text/html,<script>canary('e')</script>) [f](vbscript:canary) [g](\u0001javascript:canary('g')) <javascript:canary('h')>
[i](<javascript:canary('i')>) [j][j] [k](https://x.test/"onmouseover="canary('k')) [l](//javascript:canary('l'))
![m](${url}/image.png) ![n](javascript:canary('n')) ![o](data:image/svg+xml,<svg/onload=canary('o')>) [![p](${url}/inner)](javascript:canary('p'))

[j]: javascript:canary('j')

| <img src=x onerror=canary('cell')> | [q](javascript:canary('q')) |
|---|---|
| ![r](${url}/cell) | \`<img src=x onerror=canary('code')>\` |

- [ ] <img src=x onerror=canary('task')>

\`\`\`"><img/src=x/onerror=canary('fence')>
</code></pre><img src=x onerror=canary('block')>
\`\`\`

\`\`\`html
<script>canary('html')</script><img src="${url}/highlighted">
\`\`\`
`;
}

beforeAll(async () => {
  try {
    browser = await openBrowser();
  } catch (error) {
    missing = `SKIPPED: Chromium can't be started here. ${String(error)}`;
    console.error(missing);
    return;
  }
  elsewhere = createServer(({ url = "" }, response) => {
    arrived.push(url);
    response.setHeader("access-control-allow-origin", "*").end();
  }).listen(0, "127.0.0.1");
  await once(elsewhere, "listening");
  attack = attacks(`http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}`);
  scene = await openScene([
    { name: "part", match: { firstUserContains: "PART:" }, steps: [say(attack)] },
    { name: "main", steps: mainSteps() },
  ]);
  writeFileSync(join(scene.cwd, FILE), attack);
  writeFileSync(join(scene.cwd, ".agents/agents", FILE.replace(".txt", ".md")), `---\nname: ${attack}\n`);
  const description = JSON.stringify(attack);
  const agent = `---\nname: hostile\ndescription: ${description}\ntools: Read\n---\n${attack}`;
  writeFileSync(join(scene.cwd, ".agents/agents/hostile.md"), agent);
  // Without the content security policy, which would hide that a script or a request was attempted.
  const context = await browser.newContext({ bypassCSP: true });
  page = await context.newPage();
  page.setDefaultTimeout(10_000);
  await page.exposeFunction("canary", (...given: unknown[]) => void called.push(...given));
  context.on("request", (request) => {
    const isOwn = request.url().startsWith(scene.url) || /^(data|blob):/.test(request.url());
    if (!isOwn) left.push(request.url());
  });
  page.on("dialog", (dialog) => {
    called.push(dialog.message());
    void dialog.dismiss();
  });
});

beforeEach(({ skip }) => {
  if (missing !== undefined) skip(missing);
});

afterAll(async () => {
  elsewhere?.close();
  await browser?.close();
  await scene?.close();
});

/** Makes the attack appear in every kind of content: calls, outputs, diffs, tasks, reports, questions and errors. */
function mainSteps() {
  const call = (tool: string, input: object): ReplyPart => ({ tool, input });
  const options = [
    { label: attack.slice(0, 60), description: attack },
    { label: "x", description: attack },
  ];
  return [
    say(
      { thinking: attack },
      attack,
      call("Read", { file_path: FILE }),
      call("Grep", { pattern: "mark-of-the-attack", path: ".", output_mode: "content" }),
      call("Glob", { pattern: "*" }),
      call("TodoWrite", { todos: [{ content: attack, activeForm: attack, status: "in_progress" }] }),
      call(attack.slice(0, 60), { [attack.slice(0, 40)]: attack }),
      task(attack.slice(0, 200), `PART: ${attack}`),
    ),
    say(call("Write", { file_path: `new-${FILE}`, content: attack })),
    say(call("Bash", { command: attack, description: attack })),
    say(call("AskUserQuestion", { questions: [{ question: attack, header: "<b>", options, multiSelect: false }] })),
    {
      reply: { content: "", fault: { kind: "status" as const, status: 400, message: attack } },
      times: "always" as const,
    },
  ];
}

/** Opens everything that is closed, points at everything and follows every link that is not to another site. */
async function useEverything(): Promise<void> {
  // A part that is opened may contain others.
  await page.evaluate(async () => {
    for (let round = 0; round < 3; round += 1) {
      for (const each of document.querySelectorAll("details")) each.open = true;
      await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
    }
  });
  await page.evaluate(() => {
    for (const element of document.querySelectorAll("body *")) {
      for (const type of ["mouseover", "mouseenter", "focus"])
        element.dispatchEvent(new Event(type, { bubbles: true }));
      const target = element instanceof HTMLAnchorElement ? element.protocol : "";
      if (element instanceof HTMLAnchorElement && !/^https?:$/.test(target)) element.click();
    }
  });
}

/** Returns the parts of the page that could run a script or load something, each as HTML. */
const dangers = (): Promise<readonly string[]> =>
  page.evaluate(() =>
    [...document.body.querySelectorAll("*")]
      .filter(
        (element) =>
          element.matches(
            "script:not([src^='/']), iframe, object, embed, base, img, meta, link, image, style, form[action]",
          ) ||
          [...element.attributes].some(
            ({ name, value }) => name.startsWith("on") || /^\s*(javascript|data|vbscript):/i.test(value),
          ),
      )
      .map((element) => element.outerHTML.slice(0, 200)),
  );

async function expectHarmless(): Promise<void> {
  await page.getByText("mark-of-the-attack").first().waitFor();
  await useEverything();
  expect(await dangers()).toEqual([]);
  expect({ called, left, arrived }).toEqual({ called: [], left: [], arrived: [] });
}

const request = (tool: string) => page.getByRole("group", { name: new RegExp(`^${tool} of `) });

it("content in a session runs no script and sends no request: texts, outputs, file names, requests and errors", {
  timeout: 120_000,
}, async () => {
  await page.goto(scene.link);
  await page.getByLabel("Prompt").fill(attack);
  await page.keyboard.press("Enter");
  for (const title of ["Write", "Bash", "Question"]) {
    await request(title).waitFor();
    await expectHarmless();
    await request(title).focus();
    await page.locator('[data-request]:focus button[aria-disabled="false"]').first().waitFor();
    if (title === "Question") {
      await request(title).getByRole("radio").first().check();
      await request(title).getByRole("button", { name: "Answer", exact: true }).click();
    } else {
      await page.keyboard.press("n");
      await page.keyboard.press("Enter");
    }
    await request(title).waitFor({ state: "detached" });
  }
  await page.getByText("rejected the request with status 400").first().waitFor();
  await expectHarmless();
  await page.getByRole("treeitem").last().click();
  await expectHarmless();
});

it("content in the lists of sessions and agents, and in their files, runs no script and sends no request", async () => {
  await page.goto(`${scene.url}/#/`);
  await expectHarmless();
  await page.getByRole("link", { name: "Agents" }).click();
  await page.getByRole("link", { name: /^hostile/ }).click();
  await expectHarmless();
});
