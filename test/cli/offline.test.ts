import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { callsOf, type Line } from "../../src/protocol/index.ts";
import { needsModes } from "../../src/testing/needs.test-support.ts";
import { createUnprivilegedRipgrep } from "../../src/tools/ripgrep/unprivileged-ripgrep.test-support.ts";
import { createPlace, createPlaceWithSettings, type Place, resultOf, retinue } from "./command-line.ts";

const map = ["-p", "Map this repository", "--output-format", "json"];
const parts = ["api", "docs", "engine", "tests", "web"];

function write({ cwd }: Place, files: Readonly<Record<string, string>>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(cwd, path)), { recursive: true });
    writeFileSync(join(cwd, path), text);
  }
}

/** Writes about a hundred files in five directories. */
function writeLarge(place: Place): void {
  const numbered = (name: (number: number) => string, text: (number: number) => string) =>
    Object.fromEntries(Array.from({ length: 20 }, (_, number) => [name(number), text(number)]));
  write(place, {
    "package.json": JSON.stringify({ name: "shop", description: "Sells tea." }, null, 2),
    "engine/index.ts": "// Computes prices.\nexport {};\n",
    "engine/tax/index.ts": "// Knows the taxes.\nexport {};\n",
    "web/README.md": "# The shop window\n\nWhat customers see.\n",
    ...numbered(
      (number) => `engine/rule${number}.ts`,
      (number) => `export function rule${number}() {}\n`.repeat(number + 1),
    ),
    ...numbered(
      (number) => `api/route${number}.ts`,
      (number) => `// Route number ${number}.\nexport const route = ${number};\n`,
    ),
    ...numbered(
      (number) => `web/view${number}.tsx`,
      (number) => `export class View${number} {}\n`,
    ),
    ...numbered(
      (number) => `tests/rule${number}.test.ts`,
      (number) => `it("rule ${number} holds", () => {});\n`,
    ),
    ...numbered(
      (number) => `docs/page${number}.md`,
      (number) => `# Page ${number}\n`,
    ),
  });
}

function linesIn(path: string): Line[] {
  const lines = readFileSync(path, "utf8").trimEnd().split("\n");
  return lines.map((line) => JSON.parse(line) as Line);
}

function transcriptsOf({ home }: Place, sessionId: string) {
  const project = join(home, "projects", readdirSync(join(home, "projects"))[0] ?? "");
  const below = join(project, sessionId, "subagents");
  const names = existsSync(below) ? readdirSync(below).filter((name) => name.endsWith(".jsonl")) : [];
  return {
    main: linesIn(join(project, `${sessionId}.jsonl`)),
    agents: names.map((name) => linesIn(join(below, name))),
  };
}

/** Returns the names of the tools called in each of the model's answers. */
function answersIn(lines: readonly Line[]): string[][] {
  return lines.flatMap((line) => (line.type === "model.ended" ? [callsOf(line.message).map(({ name }) => name)] : []));
}

const headingsIn = (report: string) => [...report.matchAll(/^## Part (.+)$/gm)].map(([, path]) => path);

describe("the offline model, asked to map a large repository,", () => {
  it("starts an agent for each part in a single response, merges the reports, and always gives the same result", async () => {
    const place = createPlace();
    writeLarge(place);
    const first = await retinue(map, place);
    expect(first.code).toBe(0);
    expect(first.stderr).not.toContain("Warning");
    const { result, session_id } = resultOf(first);
    expect(headingsIn(result).sort()).toEqual(parts);
    expect(result).toContain("## Part engine\n- Computes prices.\n");
    expect(result).toMatch(/- engine\/tax\/ +1 file +2 lines +Knows the taxes\./);
    expect(result).toContain("- web/README.md:3  What customers see.");
    expect(result).toMatch(/- api\/route0\.ts:1 +Route number 0\./);
    expect(result).toContain("## Part tests\n- tests: 20 files in tests\n");
    expect(result).toMatch(/- tests\/rule0\.test\.ts:1 +tests rule 0 holds/);
    expect(result).toMatch(/- docs\/page0\.md:1 +Page 0/);
    expect(result).not.toMatch(/not explored|incomplete|not seen:|could not (?:see|be read)/);
    const { main, agents } = transcriptsOf(place, session_id);
    expect(answersIn(main)).toContainEqual(parts.map(() => "Task"));
    expect(agents).toHaveLength(parts.length);
    for (const lines of agents) {
      expect(lines[0]).toMatchObject({ type: "agent.created", agentType: "Explore" });
      expect(new Set(answersIn(lines).flat())).toEqual(new Set(["LS", "Grep", "Read"]));
      expect(lines.slice(-2)).toMatchObject([{ type: "run.ended", outcome: "succeeded" }, { type: "run.cleaned" }]);
    }
    expect(resultOf(await retinue(map, place)).result).toBe(result);
  });

  it("names the parts for which no agent could be started", async () => {
    const place = createPlace();
    writeLarge(place);
    mkdirSync(place.home);
    writeFileSync(join(place.home, "settings.json"), JSON.stringify({ subagents: { maxSpawns: 2 } }));
    const { result } = resultOf(await retinue(map, place));
    expect(headingsIn(result).sort()).toEqual(parts);
    expect(
      result.match(/^- not explored: .+the limit is 2 agents.+\n- contains \d+ files, \d+ lines: /gm),
    ).toHaveLength(3);
  });

  it("reports that an agent ended early, and why, or that it found nothing", async () => {
    const place = createPlace();
    writeLarge(place);
    const explorer = { description: "Looks.", prompt: "You look.", tools: "LS, Grep, Read", maxTurns: 1 };
    const early = await retinue([...map, "--agents", JSON.stringify({ Explore: explorer })], place);
    expect(resultOf(early).result.match(/^- incomplete: the agent ended with status incomplete$/gm)).toHaveLength(
      parts.length,
    );
    const blind = { description: "Looks.", prompt: "You look.", tools: "WebFetch" };
    const unseen = await retinue([...map, "--agents", JSON.stringify({ Explore: blind })], place);
    expect(resultOf(unseen).result.match(/^- not explored: /gm)).toHaveLength(parts.length);
  });

  it.each(["Task", "Task(Explore)"])("does the work itself if a rule denies %s", async (rule) => {
    const place = createPlace();
    writeLarge(place);
    const ended = await retinue([...map, "--disallowed-tools", rule], place);
    const { result, session_id } = resultOf(ended);
    expect(result).toMatch(/- engine\/ +22 files/);
    expect(headingsIn(result)).toEqual([]);
    expect(result).not.toContain("could not see");
    expect(transcriptsOf(place, session_id).agents).toEqual([]);
  });
});

it("the offline model maps a small repository itself", async () => {
  const place = createPlace();
  write(place, {
    "src/a.ts": "export const a = 1;\n",
    "src/b.ts": "x\n",
    "src/c.ts": "x\n",
    "docs/a.md": "# A\n",
    "docs/b.md": "# B\n",
    "docs/c.md": "# C\n",
    "test/a.test.ts": "x\n",
    "test/b.test.ts": "x\n",
    "test/c.test.ts": "x\n",
  });
  const { result, session_id } = resultOf(await retinue(map, place));
  expect(result).toMatch(/- src\/ +3 files/);
  expect(headingsIn(result)).toEqual([]);
  expect(transcriptsOf(place, session_id).agents).toEqual([]);
});

it("the offline model repeats its job when the acceptance check fails", async () => {
  const place = createPlace();
  write(place, { "docs/guide.md": "# Guide\n" });
  const check = "echo List files in docs; exit 1";
  const ended = await retinue(["-p", "Read docs/guide.md", "--output-format", "json", "--acceptance", check], place);
  expect(ended.code).toBe(4);
  const { result, session_id } = resultOf(ended);
  expect(result).toContain("# Guide");
  expect(answersIn(transcriptsOf(place, session_id).main)).toEqual([["Read"], [], ["Read"], []]);
});

it("the map of this repository names every module", async () => {
  const root = resolve(import.meta.dirname, "../..");
  const ended = await retinue(map, { ...createPlace(), cwd: root });
  expect(ended.code).toBe(0);
  const { result } = resultOf(ended);
  const modules = readdirSync(join(root, "src"), { withFileTypes: true }).filter((entry) => entry.isDirectory());
  expect(modules.length).toBeGreaterThan(10);
  for (const { name } of modules) expect(result).toContain(`- src/${name}/ `);
  expect(headingsIn(result)).toContain("test");
});

it("a map says what could not be read, and does not call it empty", needsModes, async () => {
  const place = createPlace();
  write(place, { "a.txt": "one\n", "secret.txt": "two\n", "d/b.txt": "three\n" });
  for (const name of ["secret.txt", "d"]) chmodSync(join(place.cwd, name), 0o000);
  onTestFinished(() => chmodSync(join(place.cwd, "d"), 0o700));
  const environment = { RETINUE_RIPGREP: createUnprivilegedRipgrep(join(place.home, "..")) };
  const { stdout } = await retinue(["-p", "Map this repository"], { ...place, environment });
  expect(stdout).toMatch(/^- total: 1 text file, 1 line; not all files could be read$/m);
  expect(stdout).not.toContain("without text files");
  expect(stdout).toContain("## What I could not see\n- d (Permission denied)\n- secret.txt (Permission denied)\n");
});

it("a run shows its notices in one line before the answer, and all of them with --verbose", async () => {
  const place = createPlaceWithSettings();
  write(place, { "AGENTS.md": "Be brief.\n", "README.md": "# Tea\n" });
  const before = async (...words: string[]) => {
    const { stderr } = await retinue(["-p", "Map this repository", ...words], place);
    const isNotice = (line: string) => line.startsWith("retinue: ");
    return stderr.split("\n").filter(isNotice);
  };
  const [line = "", ...more] = await before();
  expect(line).toMatch(/ignores AGENTS\.md\. No provider is configured: .*language model\. \(Add --verbose/);
  expect(more).toEqual([]);
  expect(await before("--verbose")).toEqual([
    expect.stringMatching(/AGENTS\.md\. Trust it with "retinue trust add"/),
    expect.stringMatching(/No provider is configured.*ANTHROPIC_API_KEY/),
  ]);
});
