import { mkdirSync, mkdtempSync, realpathSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { appendFile, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Snapshot } from "../../protocol/index.ts";
import type { SnapshotOptions } from "../sources/snapshot.ts";
import { createWatchList, type SnapshotWatch, watchSnapshot } from "./watch-snapshot.ts";

let place = "";
let home = "";
let project = "";
let agents = "";
let watching: SnapshotWatch | undefined;
const seen: Snapshot[] = [];
let wake = () => {};

beforeEach(() => {
  place = realpathSync(mkdtempSync(join(tmpdir(), "retinue-watch-")));
  home = join(place, "home");
  project = join(place, "project");
  agents = join(project, ".claude/agents");
  mkdirSync(home);
  mkdirSync(join(project, ".git"), { recursive: true });
  seen.length = 0;
});

afterEach(async () => {
  await watching?.close();
  watching = undefined;
  rmSync(place, { recursive: true, force: true });
});

function write(file: string, text: string): string {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  return file;
}

const agentText = (name: string, body = "Body.") => `---\nname: ${name}\ndescription: Does ${name}.\n---\n${body}\n`;

async function start(more: Partial<SnapshotOptions> = {}): Promise<SnapshotWatch> {
  const options = { cwd: project, home, stateHome: join(home, ".retinue"), trusted: true, ...more };
  watching = await watchSnapshot(options, (snapshot) => {
    seen.push(snapshot);
    wake();
  });
  return watching;
}

/** Waits until the condition holds. The time limit of the test ends a wait that fails. */
async function until(holds: (snapshot: Snapshot) => boolean): Promise<Snapshot> {
  for (;;) {
    const current = watching?.current();
    if (current && holds(current)) return current;
    await new Promise<void>((resolve) => {
      wake = resolve;
    });
  }
}

const names = ({ agents: all }: Snapshot) => all.map(({ definition }) => definition.name).join(" ");

describe("a watch", () => {
  it("sees files that are created, changed, moved and deleted, even in new directories", async () => {
    await start();
    write(join(agents, "a.md"), agentText("a"));
    await until((snapshot) => names(snapshot) === "a");
    write(join(agents, "team/b.md"), agentText("b"));
    await until((snapshot) => names(snapshot) === "a b");
    write(join(agents, "a.md"), agentText("a", "Changed."));
    await until((snapshot) => snapshot.agents[0]?.body.trim() === "Changed.");
    renameSync(join(agents, "a.md"), join(agents, "z.md"));
    await until(({ agents: all }) => all.some(({ definition }) => definition.file === join(agents, "z.md")));
    rmSync(join(agents, "team"), { recursive: true });
    await until((snapshot) => names(snapshot) === "a");
    write(join(project, ".agents/agents/c.md"), agentText("c"));
    await until((snapshot) => names(snapshot) === "c");
    write(join(home, ".claude/agents/mine.md"), agentText("mine"));
    await until((snapshot) => names(snapshot) === "mine c");
  });

  it("sees skills, context files, their imports and the targets of links", async () => {
    write(join(project, "AGENTS.md"), "@docs/one.md");
    const imported = write(join(project, "docs/one.md"), "one");
    const target = write(join(project, "shared/a.md"), agentText("a"));
    mkdirSync(agents, { recursive: true });
    symlinkSync(target, join(agents, "a.md"));
    await start();
    write(imported, "two");
    await until(({ contextFiles }) => contextFiles.some(({ text }) => text === "two"));
    write(target, agentText("a", "Through the link."));
    await until((snapshot) => snapshot.agents[0]?.body.trim() === "Through the link.");
    write(join(project, ".agents/skills/s/SKILL.md"), "---\nname: s\ndescription: S.\n---\nHow.\n");
    await until(({ skills }) => skills.length === 1);
    write(join(project, "CLAUDE.md"), "more");
    await until(({ contextFiles }) => contextFiles.some(({ text }) => text === "more"));
  });

  it("keeps the last good version of a broken file, reports it, and loads the fixed one", async () => {
    const file = write(join(agents, "a.md"), agentText("a"));
    await start();
    write(file, "---\nname: a\n");
    const broken = await until(({ diagnostics }) => diagnostics.some(({ code }) => code === "kept_last_good"));
    expect(names(broken)).toBe("a");
    write(file, agentText("a", "Mended."));
    const mended = await until((snapshot) => snapshot.agents[0]?.body.trim() === "Mended.");
    expect(mended.diagnostics).toEqual([]);
  });

  it("sees nothing in an untrusted project", async () => {
    await start({ trusted: false });
    write(join(agents, "a.md"), agentText("a"));
    write(join(home, ".claude/agents/mine.md"), agentText("mine"));
    const snapshot = await until(({ agents: all }) => all.length > 0);
    expect(names(snapshot)).toBe("mine");
  });

  it("sees only the trusted part of a project", async () => {
    const cwd = join(project, "app");
    mkdirSync(cwd);
    const more = { cwd, trustedRoot: cwd };
    await start(more);
    write(join(agents, "above.md"), agentText("above"));
    write(join(cwd, ".claude/agents/near.md"), agentText("near"));
    const snapshot = await until(({ agents: all }) => all.length > 0);
    expect(names(snapshot)).toBe("near");
    const options = { home, stateHome: join(home, ".retinue"), trusted: true, ...more };
    expect(createWatchList(options, snapshot).paths().sort()).toEqual([home, cwd].sort());
  });

  it("reports nothing after it was closed", async () => {
    let told = 0;
    const options = { cwd: project, home, stateHome: join(home, ".retinue"), trusted: true };
    const closed = await watchSnapshot(options, () => {
      told += 1;
    });
    await closed.close();
    await start();
    write(join(agents, "a.md"), agentText("a"));
    await until((snapshot) => names(snapshot) === "a");
    expect([told, closed.current().agents]).toEqual([0, []]);
  });

  it("never loses an agent while its file changes rapidly, and ends with the last version", async () => {
    const files = ["a", "b", "c"].map((name) => write(join(agents, `${name}.md`), agentText(name, "0")));
    const watch = await start();
    const rounds = 60;
    for (let round = 1; round <= rounds; round += 1) {
      await Promise.all(
        ["a", "b", "c"].map(async (name, index) => {
          const file = files[index] ?? "";
          const text = agentText(name, `${round}`);
          if (index === 0) await writeFile(file, text.slice(0, 20)).then(() => appendFile(file, text.slice(20)));
          else if (index === 1) await writeFile(`${file}.tmp`, text).then(() => rename(`${file}.tmp`, file));
          else await writeFile(file, text);
        }),
      );
      await writeFile(join(agents, `extra-${round}.md`), agentText(`extra-${round}`));
      if (round > 1) await rm(join(agents, `extra-${round - 1}.md`));
      expect(names(watch.current())).toMatch(/^a b c/);
    }
    const last = await until((snapshot) => names(snapshot) === `a b c extra-${rounds}`);
    expect(last.agents.slice(0, 3).map((agent) => agent.body.trim())).toEqual([`${rounds}`, `${rounds}`, `${rounds}`]);
    for (const snapshot of seen) expect(names(snapshot)).toMatch(/^a b c/);
  });
});
