import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { type CatalogOptions, loadAgentCatalog } from "../app/agents/agent-catalog.ts";
import { addTrust } from "../app/commands/trust.ts";

const file = "shop/.agents/agents/guard.md";

/** A repository `shop` with an agent that has a hook and an MCP server. */
function createProject(): CatalogOptions & { write(name: string, text: string): void; trustIt(): Promise<unknown> } {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "retinue-approved-")));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const write = (name: string, text: string): void => {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), text);
  };
  mkdirSync(join(root, "shop/.git"), { recursive: true });
  write(file, agent());
  const place = { cwd: join(root, "shop"), home: join(root, "state"), environment: { HOME: join(root, "user") } };
  const trustIt = () => addTrust(place);
  return { ...place, trust: false, managedDirectory: join(root, "managed"), write, trustIt };
}

function agent({ hook = "command: ./check.sh", env = "KEY: a", args = "[--fast]", body = "Work." } = {}): string {
  return `---
name: guard
description: Guards. Use when asked.
hooks:
  PreToolUse:
    - matcher: Bash
      ${hook}
mcpServers:
  - notes
  - db: { command: db, args: ${args}, env: { ${env} } }
---
${body}
`;
}

async function partsOf(options: CatalogOptions) {
  const { catalog, diagnostics } = await loadAgentCatalog(options);
  const { hooks = [], mcpServers = [] } = catalog.find("guard")!.agent.definition;
  return {
    hooks: hooks.length,
    servers: mcpServers.map(({ name }) => name),
    told: diagnostics.filter(({ code }) => code === "not_approved"),
  };
}

const all = { hooks: 1, servers: ["notes", "db"], told: [] };

describe("hooks and MCP servers in a project's agent file", () => {
  it("are on if the user trusted them, even after other parts of the file change", async () => {
    const options = createProject();
    await options.trustIt();
    expect(await partsOf(options)).toEqual(all);
    options.write(file, agent({ body: "Work harder." }));
    expect(await partsOf(options)).toEqual(all);
  });

  it.each([
    ["the hook's command", { hook: "command: ./other.sh" }, { hooks: 0, servers: ["notes", "db"] }],
    ["the hook's matcher", { hook: "command: ./check.sh\n    - command: ./more.sh" }, { hooks: 0 }],
    ["an argument of the hook", { hook: "command: ./check.sh\n      args: [x]" }, { hooks: 0 }],
    ["an argument of the server", { args: "[--slow]" }, { hooks: 1, servers: ["notes"] }],
    ["an environment variable of the server", { env: "KEY: b" }, { hooks: 1, servers: ["notes"] }],
  ])("are off after %s changed, until the user trusts them again", async (_what, change, left) => {
    const options = createProject();
    await options.trustIt();
    options.write(file, agent(change));
    const changed = await partsOf(options);
    expect(changed).toMatchObject(left);
    expect(changed.told).toEqual([
      expect.objectContaining({
        file: join(options.cwd, ".agents/agents/guard.md"),
        message: expect.stringMatching(
          /of the agent "guard" are off: they have changed since you trusted the directory\./,
        ),
        fix: 'Review the file, then run "retinue trust add".',
      }),
    ]);
    await options.trustIt();
    expect(await partsOf(options)).toMatchObject({ servers: ["notes", "db"], told: [] });
  });

  it("are off in a file that was added or moved after the directory was trusted", async () => {
    const options = createProject();
    options.write(file, "---\nname: other\ndescription: Does other things.\n---\nWork.\n");
    await options.trustIt();
    options.write("shop/.agents/agents/new/guard.md", agent());
    const added = await partsOf(options);
    expect(added).toMatchObject({ hooks: 0, servers: ["notes"] });
    expect(added.told[0]?.message).toBe(
      'The hooks and MCP servers (db) of the agent "guard" are off: you have not approved them yet.',
    );
  });

  it("are approved separately for each directory, above and below the workspace", async () => {
    const options = createProject();
    const below = { ...options, cwd: join(options.cwd, "app") };
    mkdirSync(below.cwd);
    await options.trustIt();
    expect(await partsOf(below)).toEqual(all);
    options.write(file, agent({ env: "KEY: b" }));
    expect((await partsOf(below)).told[0]?.fix).toContain(`"retinue trust add ${options.cwd}"`);
    options.write("shop/app/.agents/agents/guard.md", agent());
    expect(await partsOf(below)).toMatchObject({ hooks: 0, servers: ["notes"] });
    await addTrust(below);
    expect(await partsOf(below)).toMatchObject({ hooks: 1, servers: ["notes", "db"] });
  });

  it("are on for a run that trusts the current content, which `trust add` shows and approves", async () => {
    const options = createProject();
    expect(await partsOf({ ...options, trust: true })).toEqual(all);
    const { approved } = await addTrust(options);
    expect(approved).toEqual([
      {
        path: "agents.guard.hooks.PreToolUse",
        value: { matcher: "Bash", command: "./check.sh" },
        scope: "project",
        file: join(options.cwd, ".agents/agents/guard.md"),
      },
      expect.objectContaining({
        path: "agents.guard.mcpServers.db",
        value: { command: "db", args: ["--fast"], env: { KEY: "a" } },
      }),
    ]);
  });
});
