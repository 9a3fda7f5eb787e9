import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { basename, dirname, join, relative } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { defineTool } from "../../src/app/index.ts";
import type { Approvals } from "../../src/ports/index.ts";
import type { HookRecord, JsonObject, JsonValue, RunUpdate, Settings } from "../../src/protocol/index.ts";
import { newPlace, type Options, type Place, resultsIn, task, type Walk, walk } from "./delegation-place.ts";

/** Returns a path that the guard below must stop, given the workspace and a link to the workspace from outside. */
type Spelling = (place: { readonly cwd: string; readonly alias: string }) => string;

const spellings: readonly (readonly [string, Spelling])[] = [
  ["relative", () => "src/price.js"],
  ["with ./", () => "./src/price.js"],
  ["with ..", () => "src/../src/price.js"],
  ["with .. out of the workspace and back", ({ cwd }) => `../${basename(cwd)}/src/price.js`],
  ["with a doubled slash", () => "src//./price.js"],
  ["with a trailing slash", () => "src/price.js/"],
  ["absolute", ({ cwd }) => join(cwd, "src/price.js")],
  ["absolute with . and ..", ({ cwd }) => `${cwd}/./docs/../src//price.js`],
  ["from above the root", ({ cwd }) => `/../..${cwd}/src/price.js`],
  ["from the home directory", ({ cwd }) => `~/${relative(homedir(), join(cwd, "src/price.js"))}`],
  ["through a link to the directory", () => "src-link/price.js"],
  ["through a link to a link", () => "links/src-link/price.js"],
  ["through a link to the file", () => "price-link.js"],
  ["through a link, a new file", () => "src-link/new.js"],
  ["through a dangling link", () => "new-link.js"],
  ["through a link to the workspace", ({ alias }) => join(alias, "src/price.js")],
  ["through two links", ({ alias }) => join(alias, "src-link/price.js")],
];

/** Exits with code 2 if a property of the input, as the shell sees it, matches a pattern. */
const guard = (property: string, pattern: string): string =>
  `f=$(sed -n 's/.*"${property}":"\\([^"]*\\)".*/\\1/p'); case "$f" in ${pattern}) echo "guarded" >&2; exit 2;; esac`;
const SRC = '"$CLAUDE_PROJECT_DIR"/src/*';

const hook = (command: string, event = "PreToolUse"): Settings => ({ hooks: { [event]: [{ command }] } });
const recorded = (updates: readonly RunUpdate[]): HookRecord[] =>
  updates.flatMap((update) => (update.type === "hooks.ran" ? [update] : []));

let at: Place;
/** A link to the workspace. */
let alias: string;
beforeEach(() => {
  at = newPlace();
  const { cwd } = at;
  alias = join(dirname(cwd), "alias");
  for (const directory of ["src", "docs", "links"]) mkdirSync(join(cwd, directory));
  writeFileSync(join(cwd, "src/price.js"), "4\n");
  writeFileSync(join(cwd, "src/book.ipynb"), JSON.stringify({ cells: [], metadata: {}, nbformat: 4 }));
  writeFileSync(join(cwd, "docs/price.md"), "four\n");
  symlinkSync("src", join(cwd, "src-link"));
  symlinkSync("../src-link", join(cwd, "links/src-link"));
  symlinkSync("src/price.js", join(cwd, "price-link.js"));
  symlinkSync("src/new.js", join(cwd, "new-link.js"));
  symlinkSync(cwd, alias);
});

interface Call {
  readonly name: string;
  readonly input: Readonly<Record<string, unknown>>;
}

const write = (path: string): Call => ({ name: "Write", input: { file_path: path, content: "5\n" } });
const read = (path: string): Call => ({ name: "Read", input: { file_path: path } });

/** Makes calls, one after the other, and returns their results. */
async function make(calls: readonly Call[], options: Options): Promise<Walk & { readonly told: string[] }> {
  const steps = [...calls.map((call) => ({ calls: [call] })), { text: "Done." }];
  const walked = await walk({ MAIN: steps }, { at, permissionMode: "bypassPermissions", ...options });
  return { ...walked, told: calls.flatMap((_, index) => resultsIn(walked.model.requests("MAIN")[index + 1])) };
}

/** Returns what hooks saw, from a file to which a hook wrote its input. */
function seenIn(path: string): readonly Record<string, JsonValue>[] {
  const lines = readFileSync(join(at.cwd, path), "utf8").trim().split("\n");
  return lines.map((line) => JSON.parse(line));
}

describe("a guard that compares absolute paths", () => {
  it("stops every spelling of a path in the directory", async () => {
    const paths = spellings.map(([, spell]) => spell({ ...at, alias }));
    const { told } = await make(paths.map(write), { settings: hook(guard("file_path", SRC)) });
    const passed = spellings.filter((_, index) => !told[index]?.includes("guarded")).map(([name]) => name);
    expect(passed).toEqual([]);
    expect(readFileSync(join(at.cwd, "src/price.js"), "utf8")).toBe("4\n");
    expect(existsSync(join(at.cwd, "src/new.js"))).toBe(false);
  });

  it("stops every spelling if it is a function", async () => {
    const paths = spellings.map(([, spell]) => spell({ ...at, alias }));
    const { told } = await make(paths.map(write), {
      hooks: {
        PreToolUse: [
          {
            run: ({ tool_input, cwd }) => {
              const { file_path: path } = tool_input as { readonly file_path: string };
              return path.startsWith(`${cwd}/src/`) ? { decision: "deny", reason: "guarded" } : undefined;
            },
          },
        ],
      },
    });
    expect(spellings.filter((_, index) => !told[index]?.includes("guarded")).map(([name]) => name)).toEqual([]);
  });

  it.each<[string, (path: string) => Call, string]>([
    ["Read", read, "file_path"],
    ["Edit", (path) => ({ name: "Edit", input: { file_path: path, old_string: "4", new_string: "5" } }), "file_path"],
    [
      "NotebookEdit",
      (path) => ({ name: "NotebookEdit", input: { notebook_path: path, new_source: "1", edit_mode: "insert" } }),
      "notebook_path",
    ],
    ["LS", (path) => ({ name: "LS", input: { path: dirname(path) } }), "path"],
    ["Grep", (path) => ({ name: "Grep", input: { path, pattern: "4" } }), "path"],
    ["Glob", (path) => ({ name: "Glob", input: { path: dirname(path), pattern: "*" } }), "path"],
    ["Glob with an absolute pattern", (path) => ({ name: "Glob", input: { pattern: join(at.cwd, path) } }), "pattern"],
  ])("sees the paths of %s", async (_, call, property) => {
    const file = property === "notebook_path" ? "book.ipynb" : "price.js";
    const paths = [`src/${file}`, `./docs/../src/${file}`, `src-link/${file}`];
    const directory = '"$CLAUDE_PROJECT_DIR"/src';
    const { told } = await make(paths.map(call), {
      settings: hook(guard(property, `${directory} | ${directory}/*`)),
    });
    expect(told).toEqual(paths.map(() => expect.stringContaining("guarded")));
  });

  it("also stops a path under the name of a link, even if the link leads elsewhere", async () => {
    symlinkSync("docs", join(at.cwd, "private"));
    symlinkSync(dirname(at.home), join(at.cwd, "outside"));
    writeFileSync(join(dirname(at.home), "key.txt"), "hush\n");
    const paths = ["private/price.md", "./private//price.md", join(alias, "private/price.md"), "outside/key.txt"];
    const pattern = '"$CLAUDE_PROJECT_DIR"/private/* | "$CLAUDE_PROJECT_DIR"/outside/*';
    const { told } = await make([...paths, join(alias, "outside/key.txt"), "docs/price.md"].map(read), {
      settings: hook(guard("file_path", pattern)),
    });
    expect(told.map((text) => text.includes("guarded"))).toEqual([true, true, true, true, true, false]);
  });

  it("lets all other files pass, including those of a workspace that is reached through a link", async () => {
    const paths = ["docs/price.md", "./src/../docs/price.md", join(alias, "docs/price.md"), "notes.txt"];
    const inside = `f=$(sed -n 's/.*"file_path":"\\([^"]*\\)".*/\\1/p'); case "$f" in "$CLAUDE_PROJECT_DIR"/*) ;; *) echo "guarded: $f" >&2; exit 2;; esac`;
    for (const command of [guard("file_path", SRC), inside]) {
      const { told } = await make(paths.map(read), { at: { ...at, cwd: alias }, settings: hook(command) });
      expect(told.join("\n")).not.toContain("guarded");
    }
  });

  it("sees the paths of a subagent in its own worktree, which begin with `cwd`", async () => {
    const git = (...args: string[]) => execFileSync("git", args, { cwd: at.cwd, stdio: "pipe" });
    git("init", "-q", "-b", "main", "--template=");
    git("add", ".");
    git("-c", "user.name=T", "-c", "user.email=t@example.org", "commit", "-qm", "first");
    const seen: (readonly [unknown, string])[] = [];
    const paths = ["./src/price.js", "src-link/price.js", "docs/price.md"];
    const walked = await walk(
      {
        MAIN: [{ calls: [task("CHILD: go", { isolation: "worktree" })] }, { text: "Done." }],
        CHILD: [{ calls: paths.map(write) }, { text: "Seen." }],
      },
      {
        at,
        permissionMode: "acceptEdits",
        hooks: {
          PreToolUse: [
            {
              matcher: "Write",
              run: ({ tool_input, cwd }) => {
                const { file_path: path } = tool_input as { readonly file_path: string };
                seen.push([path, cwd]);
                return path.startsWith(`${cwd}/src/`) ? { decision: "deny", reason: "guarded" } : undefined;
              },
            },
          ],
        },
      },
    );
    const top = seen[0]?.[1] ?? "";
    expect(top).not.toBe(at.cwd);
    expect(seen).toEqual(
      expect.arrayContaining(
        ["src/price.js", "src-link/price.js", "src/price.js", "docs/price.md"].map((path) => [join(top, path), top]),
      ),
    );
    const told = resultsIn(walked.model.requests("CHILD")[1]);
    expect(told.map((text) => text.includes("guarded"))).toEqual([true, true, false]);
  });

  it("stops calls when it is asked for approval", async () => {
    const approvals: Approvals = { ask: async () => ({ answer: "allow", by: "a person" }) };
    const deny = `f=$(sed -n 's/.*"file_path":"\\([^"]*\\)".*/\\1/p'); case "$f" in ${SRC}) echo '{"decision":"deny","reason":"guarded"}';; esac`;
    const { told } = await make(["./src/new.js", "src-link/new.js", "docs/new.md"].map(write), {
      settings: hook(deny, "PermissionRequest"),
      permissionMode: "default",
      approvals,
    });
    expect(told.map((text) => text.includes("guarded"))).toEqual([true, true, false]);
  });
});

describe("a hook that allows calls by their absolute paths", () => {
  const allow = (event: string): Settings =>
    hook(
      `f=$(sed -n 's/.*"file_path":"\\([^"]*\\)".*/\\1/p'); case "$f" in "$CLAUDE_PROJECT_DIR"/docs/*) echo '{"decision":"allow"}';; esac`,
      event,
    );

  it.each(["PreToolUse", "PermissionRequest"])(
    "allows a link only if it also allows its target (%s)",
    async (event) => {
      symlinkSync("../src/other.js", join(at.cwd, "docs/other.js"));
      symlinkSync("docs", join(at.cwd, "docs-link"));
      symlinkSync("two.md", join(at.cwd, "docs/2.md"));
      const paths = ["./docs/one.md", "docs/2.md", "docs/other.js", "docs-link/three.md", "src/four.md"];
      await make(paths.map(write), { settings: allow(event), permissionMode: "default" });
      const made = ["docs/one.md", "docs/two.md", "src/other.js", "docs/three.md", "src/four.md"];
      expect(made.map((path) => existsSync(join(at.cwd, path)))).toEqual([true, true, false, false, false]);
    },
  );
});

describe("a hook's input", () => {
  it("has absolute paths, next to everything else as the model wrote it", async () => {
    const settings: Settings = {
      hooks: { PreToolUse: [{ command: "cat >> before" }], PostToolUse: [{ command: "cat >> after" }] },
    };
    const grep = { name: "Grep", input: { pattern: "./src", glob: "../*.js" } };
    const glob = { name: "Glob", input: { pattern: "./src/*.js" } };
    const bash = { name: "Bash", input: { command: "cat ./notes.txt", description: "./notes.txt" } };
    const address = { name: "Read", input: { file_path: "retinue://result/x1" } };
    const made = { name: "Write", input: { file_path: "./made.txt", content: "./made.txt" } };
    const { updates } = await make([grep, glob, bash, address, made], { settings });
    const inputs = [
      grep.input,
      glob.input,
      bash.input,
      address.input,
      { ...made.input, file_path: join(at.cwd, "made.txt") },
    ];
    for (const path of ["before", "after"]) {
      const seen = seenIn(path);
      expect(seen.map(({ tool_input }) => tool_input)).toEqual(inputs);
      expect(new Set(seen.map(({ cwd }) => cwd))).toEqual(new Set([at.cwd]));
    }
    // The model's own words stay in the transcript.
    expect(JSON.stringify(updates.filter(({ type }) => type === "model.ended"))).toContain('\\"./made.txt\\"');
  });
});

describe("a hook that returns its input", () => {
  /** Returns its input as the new input, after editing it with a sed command. */
  const echo = (edit = ""): string =>
    `sed -e 's/.*"tool_input":\\({[^}]*}\\).*/{"updatedInput":\\1}/' ${edit === "" ? "" : `-e '${edit}'`}`;

  it("has not changed it, even if paths were relative or lead through links", async () => {
    const twice: Settings = { hooks: { PreToolUse: [{ command: echo('s/:"5/:"6/') }, { command: echo() }] } };
    for (const [settings, content] of [
      [hook(echo()), "5\n"],
      [twice, "6\n"],
    ] as const) {
      rmSync(join(at.cwd, "src/new.js"), { force: true });
      const { updates, told } = await make([write("./src-link/new.js")], { settings });
      expect(told).toEqual(["Created src/new.js (1 line)."]);
      expect(readFileSync(join(at.cwd, "src/new.js"), "utf8")).toBe(content);
      const inputs = recorded(updates).map(({ inputJson }) => inputJson);
      const changed = JSON.stringify({ file_path: "./src-link/new.js", content });
      expect(inputs.filter((input) => input !== undefined)).toEqual(content === "6\n" ? [changed] : []);
    }
  });

  it("with another path causes a new decision on that path", async () => {
    const settings: Settings = {
      hooks: {
        PreToolUse: [{ command: echo("s/notes.txt/src-link\\/price.js/") }, { command: guard("file_path", SRC) }],
      },
    };
    const { told, updates } = await make([write("./notes.txt")], { settings });
    expect(told).toEqual([expect.stringContaining("guarded")]);
    const changed = JSON.stringify({ file_path: join(at.cwd, "src-link/price.js"), content: "5\n" });
    expect(recorded(updates)).toMatchObject([{ inputJson: changed }, { decision: "deny" }]);
  });

  it("after changing it in place, has changed it, and no other hook sees the change before the new decision", async () => {
    const seen: unknown[] = [];
    await make([write("made.txt")], {
      hooks: {
        PreToolUse: [
          {
            run: ({ tool_input }) => {
              const input = tool_input as { content: string };
              if (input.content === "5\n") input.content = "6\n";
              return { input: input as JsonObject };
            },
          },
          { run: async ({ tool_input }) => void seen.push((tool_input as { content: string }).content) },
        ],
      },
    });
    expect(readFileSync(join(at.cwd, "made.txt"), "utf8")).toBe("6\n");
    expect(seen).toEqual(["5\n", "6\n"]);
  });
});

it("a hook runs once for a path, and once more for the path that links lead to, and is recorded once", async () => {
  const settings: Settings = {
    hooks: { PreToolUse: [{ command: "cat >> before; echo" }], PostToolUse: [{ command: "cat >> after" }] },
  };
  const { updates } = await make([read("notes.txt"), read("src-link/../price-link.js")], { settings });
  const paths = ["notes.txt", "price-link.js", "src/price.js"].map((path) => join(at.cwd, path));
  for (const path of ["before", "after"])
    expect(seenIn(path).map(({ tool_input }) => (tool_input as JsonObject)["file_path"])).toEqual(paths);
  expect(recorded(updates).map(({ event, ran }) => [event, ran])).toEqual(
    ["PreToolUse", "PostToolUse", "PreToolUse", "PostToolUse"].map((event) => [event, 1]),
  );
});

it("a hook does not see properties that the tool ignores, which could hide the others from it", async () => {
  const decoy = join(at.cwd, "docs/price.md");
  const first = `f=$(sed -n 's/.*"tool_input":.*"path":"\\([^"]*\\)".*/\\1/p'); case "$f" in "$CLAUDE_PROJECT_DIR"/docs/*) ;; *) echo "guarded" >&2; exit 2;; esac`;
  const { file_path, content } = write("src/new.js").input;
  const made = { name: "Write", input: { file_path, content, path: decoy } };
  expect((await make([made], { settings: hook(first) })).told).toEqual([expect.stringContaining("guarded")]);
  const echo = `sed -e 's/.*"tool_input":\\({[^}]*}\\).*/{"updatedInput":\\1}/'`;
  const { told, updates } = await make([made], { settings: hook(echo) });
  expect(told).toEqual([expect.stringContaining('[Ignored unknown input: "path"')]);
  expect(recorded(updates)).toEqual([expect.not.objectContaining({ inputJson: expect.anything() })]);
});

it("a hook does not see a call whose path can't be used", async () => {
  const { told } = await make([read("src/price.js\0.md")], { settings: hook("touch asked") });
  expect(told).toEqual([expect.stringContaining("control characters")]);
  expect(existsSync(join(at.cwd, "asked"))).toBe(false);
});

it("a hook sees the absolute paths of a program's tool, alone and in a list, as far as the tool declares them", async () => {
  const seen: unknown[] = [];
  const pack = defineTool({
    name: "pack",
    description: "Packs files.",
    input: {
      type: "object",
      properties: {
        to: { type: "string" },
        from: { type: "array", items: { type: "string" } },
        note: { type: "string" },
      },
      required: ["to", "from"],
    } as const,
    access: (input) => {
      const { to, from } = input as { readonly to: string; readonly from: readonly string[] };
      return { read: from, write: to };
    },
    run: () => "packed",
  });
  const input = { to: "./out.tar", from: ["src/../src/price.js", "src-link"], note: "./notes.txt" };
  const { told } = await make([{ name: "pack", input }], {
    tools: [pack],
    hooks: { PreToolUse: [{ matcher: "pack", run: ({ tool_input }) => void seen.push(tool_input) }] },
  });
  expect(told).toEqual(["packed"]);
  const [out, price, link, src] = ["out.tar", "src/price.js", "src-link", "src"].map((path) => join(at.cwd, path));
  expect(seen).toEqual([
    { to: out, from: [price, link], note: "./notes.txt" },
    { to: out, from: [price, src], note: "./notes.txt" },
  ]);
});

it.each(["acceptEdits", "default"] as const)(
  "a call is not made if a link leads elsewhere than it did when hooks decided (%s)",
  async (permissionMode) => {
    symlinkSync("docs", join(at.cwd, "target"));
    const { told } = await make([write("target/new.md")], {
      permissionMode,
      hooks: {
        PreToolUse: [
          {
            run: () => {
              rmSync(join(at.cwd, "target"));
              symlinkSync("src", join(at.cwd, "target"));
              return { decision: "allow" };
            },
          },
        ],
      },
    });
    expect(existsSync(join(at.cwd, "src/new.md"))).toBe(false);
    expect(told).toEqual([expect.stringMatching(/target\/new\.md led elsewhere|Created docs\/new\.md/)]);
  },
);
