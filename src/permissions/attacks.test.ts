import { execFileSync } from "node:child_process";
import {
  linkSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { judgeCall } from "../executor/index.ts";
import type { JsonObject, PermissionMode, Policy, Rule } from "../protocol/index.ts";
import { createLocalWorkspace } from "../workspace/index.ts";
import { hiddenPredicate } from "./index.ts";

interface Row {
  readonly id: string;
  readonly family: string;
  readonly setup: {
    readonly mode: PermissionMode;
    readonly fs?: Readonly<Record<string, string>>;
    readonly allow?: readonly string[];
    readonly ask?: readonly string[];
    readonly deny?: readonly string[];
  };
  readonly input: JsonObject & { readonly tool: string };
  readonly acceptable: readonly string[];
}

const fixtures = (name: string): Row[] =>
  readFileSync(join(import.meta.dirname, "fixtures", name), "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Row);

let top = "";
beforeAll(() => {
  top = realpathSync(mkdtempSync(join(tmpdir(), "attacks-")));
});
afterAll(() => rmSync(top, { recursive: true, force: true }));

describe("attack rows", () => {
  it.each(fixtures("bash-attacks.jsonl").map((row) => [row.id, row] as const))("%s", async (_, row) => {
    for (const sandboxed of row.family === "benign" ? [false, true] : [false])
      expect(accepted(row, sandboxed)).toContain(await judge(row, sandboxed));
  });

  it.each(fixtures("path-attacks.jsonl").map((row) => [row.id, row] as const))("%s", async (_, row) => {
    expect(accepted(row, true)).toContain(await judge(row));
  });

  it.each([...new Set(fixtures("own-bash-attacks.jsonl").map(({ family }) => family))])(
    "added by Retinue: %s",
    async (family) => {
      const wrong: string[] = [];
      for (const row of fixtures("own-bash-attacks.jsonl").filter((each) => each.family === family)) {
        for (const sandboxed of row.family === "benign" ? [false, true] : [false]) {
          const effect = await judge(row, sandboxed);
          if (!accepted(row, sandboxed).includes(effect))
            wrong.push(`${row.id} ${row.input["command"]}: ${effect}${sandboxed ? " in a sandbox" : ""}`);
        }
      }
      expect(wrong).toEqual([]);
    },
  );

  it("hides denied files from searches", async () => {
    const rows = fixtures("path-attacks.jsonl").filter((row) => row.acceptable.includes("allow-but-no-match"));
    expect(rows.length).toBeGreaterThan(0);
    for (const row of rows) {
      const { policy, homes, root } = await prepare(row);
      const hidden = hiddenPredicate(policy, homes);
      const target = row.setup.deny?.includes("Read(./.env)") ? join(root, ".env") : "/etc/passwd";
      expect(hidden(target)).toBe(true);
      expect(hidden(join(root, "src/a.ts"))).toBe(false);
    }
  });
});

/** Without a sandbox, harmless commands may need approval too. */
function accepted(row: Row, sandboxed: boolean): readonly string[] {
  if (row.family === "benign" && !sandboxed) return [...row.acceptable, "ask"];
  const words = row.acceptable.map((word) => (word === "allow-but-no-match" ? "allow" : word));
  return words.includes("error") ? [...words, "ask", "deny"] : words;
}

async function judge(row: Row, sandboxed = false): Promise<string> {
  const { workspace: local, policy, homes } = await prepare(row);
  const workspace = { ...local, confinement: async () => ({ kind: sandboxed ? "on" : "off" }) as const };
  const { tool, ...input } = place(row.input) as JsonObject & { tool: string };
  return (await judgeCall({ toolName: tool, input, policy }, { workspace, homes })).decision.effect;
}

async function prepare(row: Row) {
  const made = Object.entries(row.setup.fs ?? {});
  const base = made.length === 0 ? top : mkdtempSync(join(top, "row-"));
  const root = join(base, "w/proj");
  const home = join(base, "home/u");
  stage = base;
  for (const path of [join(root, "src"), home, join(base, "tmp/out")]) mkdirSync(path, { recursive: true });
  writeFileSync(join(root, "src/a.ts"), "x");
  for (const [path, what] of made) make(place(path) as string, place(what) as string);
  const workspace = createLocalWorkspace({ root, environment: { HOME: home }, home });
  const { allow = [], ask = [], deny = [], mode } = place(row.setup) as Row["setup"];
  const rules: Rule[] = [
    ...allow.map((text) => ({ text, effect: "allow", scope: "user" }) as const),
    ...ask.map((text) => ({ text, effect: "ask", scope: "user" }) as const),
    ...deny.map((text) => ({ text, effect: "deny", scope: "user" }) as const),
  ];
  const pool = ["Read", "Write", "Edit", "Grep", "Glob", "LS", "Bash", "Task"];
  const policy: Policy = { mode, pool, rules, workspaceRoots: [root], readableRoots: [] };
  return { workspace, policy, homes: [home], root };
}

let stage = "";

function make(path: string, what: string): void {
  mkdirSync(dirname(path), { recursive: true });
  if (what.startsWith("-> "))
    symlinkSync(what.slice(3).replace(" (missing)", "").replace(/^~/, join(stage, "home/u")), path);
  else if (what.startsWith("= ")) linkSync(what.slice(2), path);
  else if (what === "fifo") execFileSync("mkfifo", [path]);
  else writeFileSync(path, what);
}

/** Maps /w, /home/u and /tmp/out in the rows to a temporary directory. */
function place(value: unknown): unknown {
  if (typeof value === "string") {
    return value
      .replaceAll("{CANARY}", "/tmp/canary-of-the-attack-rows")
      .replaceAll(/(?<![\w.])\/(w(?=[/ ]|$)|home\/u|tmp\/out)/g, `${stage}/$1`);
  }
  if (Array.isArray(value)) return value.map(place);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [place(key), place(inner)]));
}
