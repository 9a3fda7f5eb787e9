import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { loadProjectSettings, type Session } from "../../../src/app/index.ts";
import type { RunResult } from "../../../src/protocol/index.ts";
import { type Attack, type AttackPlace, attackRows, createPlace, type Verdict } from "./attack-place.ts";

interface Hooked {
  readonly place: AttackPlace;
  readonly session: Session;
  readonly result: RunResult;
  /** Whether the call that triggers the hook was made. */
  readonly isMade: boolean;
}

/** Makes one Write call, with this command as its hook. The command runs in the workspace. */
function hook(command: string, judge: (hooked: Hooked) => Verdict, matcher = "*"): Attack {
  return async (place) => {
    const settings = { hooks: { PreToolUse: [{ matcher, hooks: [{ type: "command", command }] }] } };
    const calls = [{ name: "Write", input: { file_path: "made.txt", content: "made" } }];
    const steps = [{ calls }, { text: "Done." }];
    const session = await place.open({ settings, permissionMode: "acceptEdits" }, steps);
    const result = await session.prompt("Go.").result;
    const isMade = existsSync(join(place.cwd, "made.txt"));
    await session.close();
    return judge({ place, session, result, isMade });
  };
}

const passes = ({ isMade, result }: Hooked): Verdict => (isMade && result.outcome === "succeeded" ? "allow" : "looser");

/** Expects that the call is not made, and that the report gives this reason. */
function blocks(why: string): (hooked: Hooked) => Verdict {
  return ({ isMade, result }) =>
    !isMade && result.facts.denied.some(({ reason }) => reason.includes(why)) ? "error" : "looser";
}

describe("hooks", () => {
  attackRows({
    "074": untrusted,
    "087": hook("echo 'not today' >&2; exit 2", blocks("not today")),
    "088": hook("echo '{not json'", blocks("looks like JSON")),
    "090": hook("head -c 100000000 /dev/zero", blocks("more than")),
    "091": hook("(sleep 1000 & echo $! > daemon.pid)", (hooked) =>
      isRunning(readFileSync(join(hooked.place.cwd, "daemon.pid"), "utf8").trim()) ? "looser" : passes(hooked),
    ),
    "092": scrubbed,
    "093": hook("touch {CANARY}", passes, "Bash|rite"),
  });

  it("run if the matcher names the tool, which proves that the command in the last row works", async () => {
    const place = createPlace();
    const row = { id: "", setup: { files: {} }, acceptable: [] };
    expect(await hook(`touch ${place.canary}`, passes, "Bash|Write")(place, row)).toBe("allow");
    expect(existsSync(place.canary)).toBe(true);
  });
});

/** In an untrusted project, a pattern that would take forever to match must not even be read. */
async function untrusted({ cwd, home, root, open }: AttackPlace): Promise<Verdict> {
  const { settings } = loadProjectSettings({ home, cwd, environment: { HOME: root }, trust: false });
  const calls = [{ name: "Read", input: { file_path: `${"a".repeat(200)}!` } }];
  const session = await open({ settings }, [{ calls }, { text: "Done." }]);
  const { outcome } = await session.prompt("Go.").result;
  return settings.hooks === undefined && outcome === "succeeded" ? "deny" : "looser";
}

async function scrubbed(place: AttackPlace, row: Parameters<Attack>[1]): Promise<Verdict> {
  process.env["ANTHROPIC_API_KEY"] = "sk-secret";
  try {
    return await hook("env > environment.txt", (hooked) => {
      const seen = readFileSync(join(place.cwd, "environment.txt"), "utf8");
      return seen.includes("sk-secret") || !seen.includes("PATH=") ? "looser" : passes(hooked);
    })(place, row);
  } finally {
    delete process.env["ANTHROPIC_API_KEY"];
  }
}

function isRunning(pid: string): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return !stat.slice(stat.lastIndexOf(")")).startsWith(") Z");
  } catch {
    return false;
  }
}
