import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, onTestFinished } from "vitest";
import { addPlugin, enablePlugin } from "../../src/app/commands/plugins.ts";
import type { Observed, WalkOptions } from "./observe-session.ts";

export interface Project {
  /** Directory that contains the workspace, the user's home and the state directory. */
  readonly root: string;
  readonly options: WalkOptions;
  /** Writes a file. The path is relative to `root`; the workspace is `work`, the user's home directory is `user`. */
  write(file: string, text: string): void;
}

const finder = (body: string): string =>
  `---\nname: finder\ndescription: Finds things. Use when asked.\nmemory: user\nskills: [deploy]\n---\n${body}\n`;

/** Creates a project with an agent that has a memory, a skill, instructions and a plugin with a hook. */
export async function newProject(): Promise<Project> {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "retinue-project-")));
  onTestFinished(() => rmSync(root, { recursive: true, force: true, maxRetries: 5 }));
  const write = (file: string, text: string): void => {
    mkdirSync(dirname(join(root, file)), { recursive: true });
    writeFileSync(join(root, file), text);
  };
  write("work/.agents/agents/finder.md", finder("You find things."));
  write("work/.agents/skills/deploy/SKILL.md", "---\nname: deploy\ndescription: Deploys.\n---\nShip it on Mondays.\n");
  write("work/AGENTS.md", "Use tabs.");
  write("work/.git/config", "[diff]\nexternal = ./evil\n");
  write("user/.agents/agents/mine.md", "---\nname: mine\ndescription: Is mine. Use when asked.\n---\nYou are mine.\n");
  write("state/agent-memory/finder/MEMORY.md", "- The port is 4711.\n");
  const command = { type: "command", command: "echo hooked >> hooked.txt" };
  write("kit/.claude-plugin/plugin.json", '{"name": "kit"}');
  write("kit/hooks/hooks.json", JSON.stringify({ hooks: { PostToolUse: [{ matcher: "Write", hooks: [command] }] } }));
  const home = join(root, "state");
  const { plugin } = await addPlugin(join(root, "kit"), { home, environment: {} });
  await enablePlugin(home, { name: "kit", hash: plugin.hash });
  const environment = { PATH: process.env["PATH"], HOME: join(root, "user"), RETINUE_HOME: home };
  return { root, options: { cwd: join(root, "work"), home: false, environment }, write };
}

/** What `expectProject` expects the test to do before the second, the third and the fourth prompt. */
export function changeFiles({ write }: Project, count: number): void {
  if (count === 1) {
    write("work/.agents/agents/finder.md", finder("You find more."));
    write("work/AGENTS.md", "Use spaces.");
    write("state/agent-memory/finder/MEMORY.md", "- The port is 4712.\n");
  }
  // The file is half-written.
  if (count === 2) write("work/.agents/agents/finder.md", "---\nname: finder\ndescription: [");
}

/** Checks four prompts in a trusted project whose files change as `changeFiles` says. */
export function expectProject({ agents, heads, requests, outcomes }: Observed): void {
  expect(outcomes).toEqual(["succeeded", "succeeded", "succeeded", "succeeded"]);
  expect(agents).toEqual(expect.arrayContaining(["finder", "mine", "Explore"]));
  const main = heads.filter(({ system }) => !/^You (find|are mine)/.test(system));
  expect(main[0]?.context).toContain("Use tabs.");
  expect(requests[1]).toContain("Ship it on Mondays.");
  const [first, second, third] = heads.filter(({ system }) => /^You find/.test(system)).map(({ system }) => system);
  expect(first).toMatch(/^You find things\..*Ship it on Mondays\..*The port is 4711\./s);
  expect(second).toMatch(/^You find more\..*Ship it on Mondays\..*The port is 4712\./s);
  expect(third).toBe(second);
  expect(requests.at(-1)).toContain("Instruction files have changed");
  expect(requests.at(-1)).toContain("Use spaces.");
}

/** Checks a session in a project that is not trusted: only the user's own files are used. */
export function expectUntrusted({ agents, heads, notices }: Observed): void {
  expect(agents).toContain("mine");
  expect(agents).not.toContain("finder");
  expect(heads[0]?.context).not.toContain("Use tabs.");
  expect(notices.join("\n")).toContain("work/.git/config may name programs that git would run");
}
