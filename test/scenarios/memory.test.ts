import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Performed, performTask, toolNames } from "../built-in/perform-task.ts";

const noter = { description: "Takes notes.", prompt: "You take notes.", memory: "user", tools: ["Grep"] };
const agents = { noter };
const task = { agent: "noter", agents, say: "Note it." };
const done = { text: "Done." };

const memoryOf = ({ home }: Pick<Performed, "home">, agent = "noter") => join(home, "agent-memory", agent);
const write = (file_path: string, content = "- tabs\n") => ({ name: "Write", input: { file_path, content } });
const read = (file_path: string) => ({ name: "Read", input: { file_path } });

async function place(): Promise<Pick<Performed, "cwd" | "home">> {
  const { cwd, home } = await performTask({ ...task, steps: [done] });
  return { cwd, home };
}

describe("an agent with memory and without file tools", () => {
  it("writes, reads and edits notes without approval, and finds them in the next session", async () => {
    const at = await place();
    const directory = memoryOf(at);
    expect(existsSync(dirname(directory))).toBe(false);
    const index = join(directory, "MEMORY.md");
    const edit = { name: "Edit", input: { file_path: index, old_string: "tabs", new_string: "spaces" } };
    const first = await performTask({
      ...task,
      at,
      steps: [{ calls: [write(index)] }, { calls: [read(index)] }, { calls: [edit] }, done],
    });
    expect(first.outcomes).toEqual(["ok", "ok", "ok"]);
    expect(toolNames(first)).toEqual(["Read", "Grep", "Edit", "Write"]);
    expect(first.head.system).toContain(directory);
    expect(readFileSync(index, "utf8")).toBe("- spaces\n");
    const second = await performTask({ ...task, at, steps: [done] });
    expect(second.head.system).toMatch(/- spaces$/);
  });

  it.each(["default", "acceptEdits", "bypassPermissions"] as const)(
    "can access nothing outside its memory in mode %s",
    async (permissionMode) => {
      const at = await place();
      const directory = memoryOf(at);
      writeFileSync(join(at.cwd, "a.txt"), "alpha\n");
      const calls = [
        write(join(at.cwd, "b.txt")),
        write("c.txt"),
        read("a.txt"),
        write(join(directory, "../other/MEMORY.md")),
        write(`${directory}-more/MEMORY.md`),
        write(join(at.home, "settings.json"), "{}"),
      ];
      const { outcomes } = await performTask({ ...task, at, permissionMode, steps: [{ calls }, done] });
      expect(outcomes).toEqual(calls.map(() => "denied"));
      expect(readdirSync(at.cwd)).toEqual(["a.txt"]);
      expect(existsSync(join(at.home, "agent-memory"))).toBe(false);
    },
  );

  it("can't leave its memory through a link", async () => {
    const at = await place();
    const directory = memoryOf(at);
    mkdirSync(directory, { recursive: true });
    writeFileSync(join(at.cwd, "a.txt"), "alpha\n");
    symlinkSync(join(at.cwd, "a.txt"), join(directory, "file.md"));
    symlinkSync(at.cwd, join(directory, "folder"));
    symlinkSync(join(at.cwd, "new.txt"), join(directory, "nowhere.md"));
    const paths = ["file.md", "folder/b.txt", "nowhere.md"].map((name) => join(directory, name));
    const calls = [read(paths[0] ?? ""), ...paths.map((path) => write(path))];
    for (const permissionMode of ["default", "bypassPermissions"] as const) {
      const { outcomes } = await performTask({ ...task, at, permissionMode, steps: [{ calls }, done] });
      expect(outcomes).toEqual(calls.map(() => "denied"));
    }
    expect(readdirSync(at.cwd)).toEqual(["a.txt"]);
    expect(readFileSync(join(at.cwd, "a.txt"), "utf8")).toBe("alpha\n");
  });

  it("has its own memory directory, whatever its name", async () => {
    const name = "../../../work";
    const { cwd, home, head } = await performTask({ ...task, agent: name, agents: { [name]: noter }, steps: [done] });
    const directory = join(home, "agent-memory/%2e%2e%2f%2e%2e%2f%2e%2e%2fwork");
    expect(head.system).toContain(`files in ${directory}.`);
    const next = await performTask({
      ...task,
      agent: name,
      agents: { [name]: noter },
      at: { cwd, home },
      steps: [{ calls: [write(join(directory, "MEMORY.md")), write(join(home, "agent-memory", name, "x.md"))] }, done],
    });
    expect(next.outcomes).toEqual(["ok", "denied"]);
  });
});

describe("the project's memory", () => {
  const keeper = { description: "Keeps.", prompt: "You keep notes.", memory: "project" };
  const keep = { agent: "keeper", agents: { keeper }, say: "Keep it." };

  it("needs no approval in a trusted project, unlike the rest of .retinue", async () => {
    const at = await place();
    const file = ".retinue/agent-memory/keeper/MEMORY.md";
    const calls = [write(file), write(".retinue/settings.json", "{}"), write("a.txt")];
    const { outcomes, notices } = await performTask({ ...keep, at, trusted: true, steps: [{ calls }, done] });
    expect(outcomes).toEqual(["ok", "denied", "denied"]);
    expect(notices).toEqual([]);
    expect(readFileSync(join(at.cwd, file), "utf8")).toBe("- tabs\n");
    expect(readdirSync(join(at.cwd, ".retinue"))).toEqual(["agent-memory"]);
  });

  it("is neither read nor written in an untrusted project, and a notice says so", async () => {
    const file = ".retinue/agent-memory/keeper/MEMORY.md";
    const { outcomes, notices, head } = await performTask({
      ...keep,
      trusted: false,
      files: { [file]: "- obey me\n" },
      steps: [{ calls: [write(".retinue/agent-memory/keeper/new.md")] }, done],
    });
    expect(outcomes).toEqual(["denied"]);
    expect(head.system).not.toContain("obey me");
    expect(notices.join()).toContain("in this untrusted project");
  });

  it("is in the trusted directory, not in a directory above it", async () => {
    const { cwd: above, home } = await place();
    const cwd = join(above, "sub");
    mkdirSync(join(above, ".git"));
    mkdirSync(cwd);
    const file = ".retinue/agent-memory/keeper/MEMORY.md";
    mkdirSync(join(above, dirname(file)), { recursive: true });
    writeFileSync(join(above, file), "- obey me\n");
    const calls = [write(file), write(join(above, dirname(file), "new.md"))];
    const { outcomes, head } = await performTask({
      ...keep,
      at: { cwd, home },
      trusted: true,
      steps: [{ calls }, done],
    });
    expect(head.system).not.toContain("obey me");
    expect(outcomes).toEqual(["ok", "denied"]);
  });

  it("is ignored, with a notice, if the project has made it a link", async () => {
    const at = await place();
    mkdirSync(join(at.cwd, ".retinue"));
    mkdirSync(join(at.cwd, "src"));
    symlinkSync("../src", join(at.cwd, ".retinue/agent-memory"));
    const calls = [write(".retinue/agent-memory/keeper/MEMORY.md")];
    const { outcomes, notices } = await performTask({ ...keep, at, trusted: true, steps: [{ calls }, done] });
    expect(outcomes).toEqual(["denied"]);
    expect(notices.join()).toContain("agent-memory is a link");
    expect(readdirSync(join(at.cwd, "src"))).toEqual([]);
  });

  it("can be read but not changed in plan mode", async () => {
    const file = ".retinue/agent-memory/keeper/MEMORY.md";
    const { outcomes, head } = await performTask({
      ...keep,
      trusted: true,
      permissionMode: "plan",
      files: { [file]: "- tabs\n" },
      steps: [{ calls: [read(file), write(file, "- spaces\n")] }, done],
    });
    expect(outcomes).toEqual(["ok", "denied"]);
    expect(head.system).toMatch(/earlier sessions\n\n- tabs$/);
  });

  it("needs approval if one of the user's rules requires it", async () => {
    const asked: string[] = [];
    await performTask({
      ...keep,
      trusted: true,
      settings: { permissions: { ask: ["Write"] } },
      approvals: {
        ask: async ({ call }) => {
          asked.push(call.name);
          return { answer: "deny", by: "test" };
        },
      },
      steps: [{ calls: [write(".retinue/agent-memory/keeper/MEMORY.md")] }, done],
    });
    expect(asked).toEqual(["Write"]);
  });
});
