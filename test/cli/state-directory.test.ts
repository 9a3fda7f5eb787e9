import { chmodSync, chownSync, lstatSync, mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { isRoot, needs } from "../../src/testing/needs.test-support.ts";
import { createPlace, type Place, retinue, retinueProcess, serve } from "./command-line.ts";

/** Lists what other users may read or change in a directory, with its mode. */
function exposed(directory: string): readonly string[] {
  return ["", ...readdirSync(directory, { recursive: true })]
    .map((name) => ({ name: String(name), stat: lstatSync(join(directory, String(name))) }))
    .filter(({ stat }) => !stat.isSymbolicLink() && (stat.mode & 0o077) !== 0)
    .map(({ name, stat }) => `${name} ${(stat.mode & 0o777).toString(8)}`);
}

const call = (tool: string, input: object) => ({ tool, input });

describe("the state directory", () => {
  it("can be read and changed only by its owner, whatever the umask is", async () => {
    const place = createPlace();
    const { cwd, home } = place;
    mkdirSync(join(cwd, "plugin/.claude-plugin"), { recursive: true });
    writeFileSync(join(cwd, "plugin/.claude-plugin/plugin.json"), '{ "name": "kit" }');
    writeFileSync(join(cwd, "plugin/run.sh"), "", { mode: 0o755 });
    mkdirSync(join(cwd, ".agents/agents"), { recursive: true });
    const helper = "---\nname: helper\ndescription: Helps. Use it.\nmemory: user\n---\nHelp.\n";
    writeFileSync(join(cwd, ".agents/agents/helper.md"), helper);
    const calls = [
      call("Bash", { command: "seq 100000" }),
      call("Bash", { command: "seq 100000; sleep 60", run_in_background: true }),
      call("Write", { file_path: "made.txt", content: "x" }),
      call("Task", { description: "x", prompt: "PART", subagent_type: "helper" }),
    ];
    const note = call("Write", { file_path: join(home, "agent-memory/helper/MEMORY.md"), content: "x" });
    const server = await serve({
      conversations: [
        {
          match: { firstUserContains: "PART" },
          steps: [{ reply: { content: [note] } }, { reply: { content: "Done." } }],
        },
        { steps: [{ reply: { content: calls } }, { reply: { content: "Done." }, times: "always" }] },
      ],
    });
    const through = ["bash", "-c", 'umask 000; exec "$@"', "bash"];
    const commands = [
      ["trust", "add"],
      ["-p", "go", "--permission-mode", "bypassPermissions"],
      ["plugins", "add", "plugin", "--yes"],
      ["schedule", "add", "every day 7:00", "-p", "x"],
    ];
    for (const words of commands) {
      const done = await retinueProcess(words, { ...place, server, through });
      expect(done.code, done.stderr).toBe(0);
    }
    expect(statSync(join(cwd, "made.txt")).mode & 0o777).toBe(0o666);
    const written = readdirSync(home, { recursive: true, encoding: "utf8" }).join(" ");
    for (const part of [
      "trust.json",
      "plugins/kit/run.sh",
      "schedules.json",
      "subagents/agent-",
      "results/",
      "MEMORY.md",
    ])
      expect(written).toContain(part);
    expect(exposed(home)).toEqual([]);
  });

  const stateOf = async (place: Place) => {
    const { stdout } = await retinue(["doctor", "--json"], place);
    const { findings } = JSON.parse(stdout) as { findings: { name: string }[] };
    return findings.find(({ name }) => name === "state");
  };

  it.each([0o777, 0o770, 0o720])("is reported in doctor if others can change it (mode %o)", async (mode) => {
    const place = createPlace();
    mkdirSync(place.home);
    chmodSync(place.home, 0o755);
    expect(await stateOf(place)).toMatchObject({ status: "ok" });
    chmodSync(place.home, mode);
    expect(await stateOf(place)).toMatchObject({ status: "warn", fix: expect.stringContaining("chmod go-w") });
  });

  it("is reported in doctor if it belongs to another user, as with sudo", needs("root", isRoot), async () => {
    const place = createPlace();
    mkdirSync(place.home, { mode: 0o700 });
    chownSync(place.home, 65_534, 65_534);
    expect(await stateOf(place)).toMatchObject({ status: "warn", found: expect.stringContaining("another user") });
  });
});

it("doctor warns root, and only root, to use an ordinary user", needs("root", isRoot), async () => {
  const place = createPlace();
  mkdirSync(place.home, { mode: 0o700 });
  const usersIn = async (uid?: number) => {
    const { stdout } = await retinueProcess(["doctor", "--json"], { ...place, uid });
    return (JSON.parse(stdout) as { findings: { name: string }[] }).findings.filter(({ name }) => name === "user");
  };
  expect(await usersIn()).toMatchObject([{ status: "warn", fix: "Run Retinue as an ordinary user." }]);
  chmodSync(dirname(place.home), 0o755);
  for (const directory of [place.home, place.cwd]) chownSync(directory, 65_534, 65_534);
  expect(await usersIn(65_534)).toEqual([]);
});
