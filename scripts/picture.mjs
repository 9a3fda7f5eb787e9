// Regenerates the pictures in docs/assets from the built program: agents.svg shows a run in a terminal (tmux) while its
// agents are working, and web.png shows the web view of a session with a scripted model.
//   node --import tsx scripts/picture.mjs

import { execFileSync, spawn } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { openPage, startBrowser } from "../test/web/open-browser.ts";
import { openScene, PROMPT } from "../test/web/scene.ts";

const root = resolve(import.meta.dirname, "..");
const command = 'retinue -p "Map this repository"';
const columns = 140;
const rows = 60;
const agentRows = 12;

const directory = mkdtempSync(join(tmpdir(), "retinue-picture-"));
const socket = `retinue-picture-${process.pid}`;
const tmux = (...words) => execFileSync("tmux", ["-L", socket, ...words], { encoding: "utf8" });
try {
  mkdirSync(join(root, "docs/assets"), { recursive: true });
  const busiest = await photographTerminal();
  writeFileSync(join(root, "docs/assets/agents.svg"), draw(busiest, { from: Math.max(0, busiest.length - agentRows) }));
  await photographPage(join(root, "docs/assets/web.png"));
} finally {
  rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
}

async function photographPage(path) {
  const scene = await openScene();
  const browser = await startBrowser();
  try {
    const { page } = await openPage(browser);
    await page.emulateMedia({ colorScheme: "dark" });
    await page.setViewportSize({ width: 1320, height: 720 });
    await page.goto(scene.link);
    await page.getByLabel("Prompt").fill(PROMPT);
    await page.getByRole("button", { name: "Options" }).click();
    await page.getByLabel("Budget in $").fill("1");
    await page.getByRole("button", { name: "Start", exact: true }).click();
    await page.getByRole("button", { name: /Allow once/ }).click();
    await page.getByText("npm test -- price").first().waitFor();
    // The timeline grows while the request waits.
    await page.waitForTimeout(3_000);
    await page.screenshot({ path });
  } finally {
    await browser.close();
    await scene.close();
  }
}

async function photographTerminal() {
  const program = join(directory, "retinue");
  writeFileSync(program, `#!/bin/sh\nexec "${process.execPath}" "${join(root, "dist/cli.cjs")}" "$@"\n`);
  chmodSync(program, 0o755);
  // The shell signals each time it shows a prompt: when it starts, and when the command has finished.
  const variables = {
    PATH: `${directory}:${process.env.PATH}`,
    HOME: directory,
    LANG: "C.UTF-8",
    TERM: "tmux-256color",
    PS1: "$ ",
    PROMPT_COMMAND: `tmux -L ${socket} wait-for -S prompt`,
  };
  const words = Object.entries(variables).map(([name, value]) => `${name}=${value}`);
  const shell = ["env", "-i", ...words, "bash", "--norc", "--noprofile"];
  tmux("-f", "/dev/null", "new-session", "-d", "-x", `${columns}`, "-y", `${rows}`, "-c", root, ...shell);
  try {
    tmux("wait-for", "prompt");
    tmux("send-keys", command, "Enter");
    return await busiestScreen();
  } finally {
    tmux("kill-server");
  }
}

/**
 * Returns the screen that had the most running agents before the command finished. Of several, it returns the one on
 * which the most agents show calls.
 */
async function busiestScreen() {
  const waiting = spawn("tmux", ["-L", socket, "wait-for", "prompt"]);
  let hasEnded = false;
  waiting.on("close", () => {
    hasEnded = true;
  });
  let best = { score: -1, lines: [] };
  while (!hasEnded) {
    const lines = tmux("capture-pane", "-e", "-p").trimEnd().split("\n");
    const agents = lines.filter((line) => /[⠁-⣿] Explore /.test(line));
    const score = agents.length * 100 + agents.filter((line) => /\d calls/.test(line)).length;
    if (score > best.score) best = { score, lines };
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return best.lines;
}

function draw(screen, { from = 0 } = {}) {
  const cell = { width: 6.9, height: 16.5 };
  const margin = 16;
  const width = Math.ceil(columns * cell.width + 2 * margin);
  // Styles that a line switches on also apply to the lines below it, even if that line itself is not drawn.
  const codes = new Set();
  for (const line of screen.slice(0, from)) spansOf(line, codes);
  const lines = screen.slice(from);
  const height = lines.length * cell.height + 2 * margin;
  const texts = lines.map((line, index) => {
    const y = margin + (index + 0.75) * cell.height;
    const spans = spansOf(line, codes).map(({ text, column, style }) => {
      const x = (margin + column * cell.width).toFixed(1);
      const length = (text.length * cell.width).toFixed(1);
      return `<text x="${x}" y="${y}" textLength="${length}"${style}>${escaped(text)}</text>`;
    });
    return spans.join("");
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${escaped(command)} in a terminal">
<rect width="100%" height="100%" rx="8" fill="#16181d"/>
<g fill="#d6d9e0" font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="11.5" xml:space="preserve" style="white-space: pre">
${texts.filter((text) => text !== "").join("\n")}
</g>
</svg>
`;
}

/** Splits a line into pieces of one style each. Supports only the styles that the program uses. */
function spansOf(line, codes) {
  const spans = [];
  let column = 0;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are parsed here
  for (const part of line.split(/(\u001b\[[\d;]*m)/)) {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are parsed here
    const change = /^\u001b\[([\d;]*)m$/.exec(part);
    if (change) {
      for (const code of change[1].split(";").map(Number)) {
        if (code === 0) codes.clear();
        else if (code === 22) for (const each of [1, 2]) codes.delete(each);
        else codes.add(code);
      }
      continue;
    }
    const text = part.trimEnd();
    const lead = text.length - text.trimStart().length;
    const style = `${codes.has(2) ? ' opacity="0.55"' : ""}${codes.has(1) ? ' font-weight="bold"' : ""}`;
    if (text !== "") spans.push({ text: text.trimStart(), column: column + lead, style });
    column += part.length;
  }
  return spans;
}

function escaped(text) {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}
