import {
  existsSync,
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
import { expect, it, onTestFinished } from "vitest";
import { type AgentList, listAgents, openSession, type Session, type SessionOptions } from "../../../src/app/index.ts";
import { createScriptedModel, type ScriptedStep } from "../../../src/testing/index.ts";

export interface Row {
  readonly id: string;
  readonly setup: { readonly files: Readonly<Record<string, unknown>> };
  readonly acceptable: readonly string[];
}

/** Result of an attack. `looser`: Retinue was less strict than it must be, which is never acceptable. */
export type Verdict = "deny" | "ask" | "error" | "allow" | "looser";
export type Attack = (place: AttackPlace, row: Row) => Verdict | Promise<Verdict>;

const rows = readFileSync(join(import.meta.dirname, "rows.jsonl"), "utf8")
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line) as Row);

export interface AttackPlace {
  readonly root: string;
  readonly cwd: string;
  readonly home: string;
  /** Path of a file that exists if any part of the attack was run. */
  readonly canary: string;
  /** Writes files by path, absolute or relative to the workspace. The content `-> target` creates a symlink. */
  write(files: Readonly<Record<string, unknown>>): void;
  open(options: SessionOptions, steps?: readonly ScriptedStep[]): Promise<Session>;
  list(options: { readonly trust: boolean }): Promise<AgentList>;
}

/** Tests each named row in a new place with its files. The result must be acceptable, and no code in them may run. */
export function attackRows(attacks: Readonly<Record<string, Attack>>): void {
  it.each(Object.entries(attacks))("%s", async (id, attack) => {
    const row = rows.find((each) => each.id === `DEFINITIONS-${id}`);
    if (row === undefined) throw new Error(`row ${id} does not exist`);
    const place = createPlace();
    if (!("scenario" in row.setup.files)) place.write(row.setup.files);
    expect(row.acceptable).toContain(await attack(place, row));
    expect(existsSync(place.canary)).toBe(false);
  });
}

/** Creates a workspace and a state directory, which are deleted after the test. */
export function createPlace(): AttackPlace {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "retinue-attack-")));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const cwd = join(root, "work");
  mkdirSync(cwd);
  const home = join(root, "state");
  const canary = join(root, "canary");
  const environment = { PATH: process.env["PATH"], HOME: root };
  return {
    root,
    cwd,
    home,
    canary,
    write: (files) => {
      for (const [name, content] of Object.entries(files)) {
        const path = name.startsWith("/") ? name : join(cwd, name);
        mkdirSync(dirname(path), { recursive: true });
        const text = (typeof content === "string" ? content : JSON.stringify(content)).replaceAll("{CANARY}", canary);
        if (text.startsWith("-> ")) symlinkSync(text.slice(3), path);
        else writeFileSync(path, text);
      }
    },
    open: async (options, steps = []) => {
      const session = await openSession({ cwd, home, environment, model: createScriptedModel(steps), ...options });
      onTestFinished(() => session.close());
      return session;
    },
    list: async ({ trust }) => {
      return listAgents({ cwd, home, environment, trust });
    },
  };
}
