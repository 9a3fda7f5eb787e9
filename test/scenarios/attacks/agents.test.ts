import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe } from "vitest";
import { UserError } from "../../../src/app/index.ts";
import { renderAgent } from "../../../src/cli/commands/agents/render.ts";
import { loadSnapshot } from "../../../src/definitions/index.ts";
import { textOf } from "../../../src/protocol/index.ts";
import { type Attack, type AttackPlace, attackRows, type Verdict } from "./attack-place.ts";

/** Expects that the agent can't be started, with this message for the user. */
async function refusal(opening: Promise<unknown>, says: RegExp): Promise<Verdict> {
  try {
    await opening;
    return "looser";
  } catch (error) {
    return error instanceof UserError && says.test(`${error.message} ${error.fix ?? ""}`) ? "deny" : "looser";
  }
}

/** Returns whether this agent's command was denied. The command would create a file. */
async function command(place: AttackPlace, options: Parameters<AttackPlace["open"]>[0]): Promise<Verdict> {
  const trace = join(place.cwd, "trace");
  const calls = [{ name: "Bash", input: { command: "touch trace" } }];
  const session = await place.open(options, [{ calls }, { text: "Done." }]);
  const { facts } = await session.prompt("Go.").result;
  return facts.denied.length === 1 && !existsSync(trace) ? "deny" : "looser";
}

/** Expects that no agent is loaded from the file, and that a diagnostic gives the reason. */
function notLoaded(code: RegExp): Attack {
  return async (place) => {
    const { agents, diagnostics } = await place.list({ trust: true });
    const said = diagnostics.some((each) => each.severity === "error" && code.test(each.code) && each.line >= 1);
    return said && agents.every(({ source }) => source === "built-in") ? "error" : "looser";
  };
}

const project = (file: string, text: string) => ({ [`.claude/agents/${file}`]: text });

describe("a project's agents", () => {
  attackRows({
    "050": (place) => refusal(place.open({ agent: "a", trusted: false }), /no agent "a".*not trusted/),
    "051": async (place) => {
      const session = await place.open({ agent: "a", trusted: true });
      const told = session.notices.some((notice) => /a\.md:4: .*bypassPermissions/.test(notice));
      await session.close();
      return told && session.permissionMode === "default" ? command(place, { agent: "a", trusted: true }) : "looser";
    },
    "052": (place, { setup }) => {
      const [text] = Object.values(setup.files);
      place.write({ [join(place.root, ".claude/agents/mine.md")]: String(text).replace("name: a", "name: mine") });
      const settings = { permissions: { disableBypassPermissionsMode: "disable" } } as const;
      return refusal(place.open({ agent: "mine", settings }), /bypassPermissions mode is switched off/);
    },
    "053": async (place) => {
      const before = await place.list({ trust: false });
      const after = await place.list({ trust: true });
      const sourceOf = ({ agents }: typeof before) => agents.find(({ name }) => name === "general-purpose")?.source;
      const announced = after.agents.some(({ name, overrides }) => name === "general-purpose" && overrides.length > 0);
      return sourceOf(before) === "built-in" && sourceOf(after) === "project" && announced ? "ask" : "looser";
    },
    "055": async (place) => {
      const { agents } = await place.list({ trust: false });
      const { diagnostics } = await place.list({ trust: true });
      const flagged = diagnostics.some(({ code, message }) => code === "confusable_name" && /"Explore"/.test(message));
      return flagged && agents.every(({ source }) => source === "built-in") ? "deny" : "looser";
    },
    "056": (place) => command(place, { agent: "w", trusted: true, permissionMode: "plan" }),
    "058": async (place) => {
      const call = { name: "Task", input: { description: "d", prompt: "Write x.", subagent_type: "w" } };
      const session = await place.open({ agent: "r", trusted: true }, [{ calls: [call] }, { text: "No." }]);
      const ended: string[] = [];
      const run = session.prompt("Go.");
      for await (const update of run) if (update.type === "tool.ended") ended.push(textOf(update.result.content));
      return ended.length === 1 && /no tools left.*does not have it/.test(ended[0] ?? "") ? "deny" : "looser";
    },
    "059": async (place) => {
      const call = { name: "Task", input: { description: "d", prompt: "Delegate.", subagent_type: "n" } };
      const session = await place.open({ trusted: true }, [{ calls: [call] }, { text: "No." }]);
      const ended: string[] = [];
      for await (const update of session.prompt("Go."))
        if (update.type === "tool.ended") ended.push(textOf(update.result.content));
      return /no tools left/.test(ended[0] ?? "") ? "deny" : "looser";
    },
    "062": async (place) => {
      const first = await place.open({ agent: "w", trusted: true }, [{ text: "Done." }]);
      await first.prompt("Go.").result;
      await first.close();
      const again = await place.open({ resume: first.id, trusted: true });
      return again.agentType === "w" && again.tools.join() === "Read" ? "deny" : "looser";
    },
    "063": (place) => refusal(place.open({ agent: "w", trusted: true }), /no tools left/),
    "066": async (place) => {
      const { agentType } = await place.open({ agent: "toString", trusted: true });
      return agentType === "toString" ? "allow" : "looser";
    },
    "067": async (place) => {
      const { agents } = await place.list({ trust: true });
      const row = agents.find(({ name }) => name === "x");
      if (row === undefined) return "looser";
      const { description, source } = row;
      const details = { definition: { name: "x", description, source }, resolvedTools: null, bodyCharacters: 0 };
      const shown = renderAgent({ ...row, ...details, diagnostics: [] });
      return shown.includes("\u001b") || shown.includes("\u0007") ? "looser" : "allow";
    },
    "069": async (place, row) => {
      place.write(project("x.md", `---\nname: x\ndescription: "${"A".repeat(10_000_000)}"\n---\n`));
      return notLoaded(/large|long|size/)(place, row);
    },
    "070": notLoaded(/alias|yaml|frontmatter/),
    "072": notLoaded(/frontmatter_language/),
    "075": notLoaded(/link|outside/),
    "076": notLoaded(/link|outside/),
    "077": async ({ cwd, root, home }) => {
      const { skills } = await loadSnapshot({ cwd, home: root, stateHome: home, trusted: true });
      return skills.length === 0 ? "deny" : "looser";
    },
  });
});
