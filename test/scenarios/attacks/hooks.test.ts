import { existsSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { loadProjectSettings } from "../../../src/app/index.ts";
import { type Attack, type AttackPlace, attackRows, createPlace, type Verdict } from "./attack-place.ts";

/** Hooks are not run by this version, and whoever relies on one is told: what a hook would do can't happen either. */
function hook(command: string, matcher = "*"): Attack {
  return async (place) => {
    const verdicts = [await ofAgent(place, { command, matcher }), ofSettings(place, { command, matcher })];
    return verdicts.every((verdict) => verdict === "allow") ? "allow" : "looser";
  };
}

interface HookEntry {
  readonly command: string;
  readonly matcher: string;
}

async function ofAgent(place: AttackPlace, entry: HookEntry): Promise<Verdict> {
  const hooks = JSON.stringify({ PreToolUse: [entry], PostToolUse: [entry], Stop: [entry] });
  place.write({ ".claude/agents/hooked.md": `---\nname: hooked\ndescription: d\nhooks: ${hooks}\n---\nWork.\n` });
  const calls = [{ name: "Bash", input: { command: "env > seen.txt" } }];
  const options = { agent: "hooked", trusted: true, permissionMode: "bypassPermissions" } as const;
  const session = await place.open(options, [{ calls }, { text: "Done." }]);
  const { outcome } = await session.prompt("Go.").result;
  const told = session.notices.some((notice) => /sets hooks, which this version does not honour/.test(notice));
  return told && outcome === "succeeded" ? "allow" : "looser";
}

function ofSettings({ cwd, home, root, write }: AttackPlace, entry: HookEntry): Verdict {
  const { matcher, command } = entry;
  write({ ".claude/settings.json": { hooks: { PreToolUse: [{ matcher, hooks: [{ type: "command", command }] }] } } });
  const { notices } = loadProjectSettings({ home, cwd, environment: { HOME: root }, trust: true });
  return notices.some((notice) => notice.includes("hooks are not run by this version")) ? "allow" : "looser";
}

describe("hooks", () => {
  attackRows({
    "074": async (place, row) => ((await hook("touch {CANARY}", "(a+)+$")(place, row)) === "allow" ? "deny" : "looser"),
    "087": hook("touch {CANARY}; exit 2"),
    "088": hook("touch {CANARY}; echo '{not json'"),
    "090": hook("touch {CANARY}; head -c 100000000 /dev/zero"),
    "091": hook("touch {CANARY}; (sleep 1000 &)"),
    "092": hook('printf %s "$ANTHROPIC_API_KEY" > {CANARY}'),
    "093": hook("touch {CANARY}", "Bash|Write"),
  });

  it("would be seen if they ran: the same words as a call leave their trace", async () => {
    const place = createPlace();
    const calls = [{ name: "Bash", input: { command: `touch ${place.canary}` } }];
    const settings = { sandbox: "off" } as const;
    const session = await place.open({ permissionMode: "bypassPermissions", settings }, [{ calls }, { text: "Done." }]);
    await session.prompt("Go.").result;
    expect(existsSync(place.canary)).toBe(true);
  });
});
