import { platform } from "node:os";
import { type AgentResolution, type ResolvedAgent, resolveAgent } from "../../agents/index.ts";
import { UserError } from "../../lib/index.ts";
import {
  type AgentDefinition,
  type Head,
  type Policy,
  type Rule,
  type Settings,
  VERIFIER,
} from "../../protocol/index.ts";
import type { Acceptance } from "../../runs/index.ts";
import { existingDirectories } from "../places.ts";
import type { SessionTools } from "../tools/session-tools.ts";
import type { OpenedSession } from "./opened-session.ts";
import type { SessionOptions } from "./session-options.ts";

export interface MainPlace extends Pick<OpenedSession, "settings" | "cwd" | "chosen" | "loaded" | "thread"> {
  readonly tools: SessionTools;
  readonly rules: readonly Rule[];
  readonly outputDirectory: string;
}

/** Resolves the session's main agent from options, settings and its definition. */
export function resolveMain(options: SessionOptions, place: MainPlace): AgentResolution {
  const { settings, cwd, chosen, loaded, thread, tools, rules, outputDirectory } = place;
  const { permissions = {} } = settings;
  return resolveAgent({
    ...loaded,
    model: chosen.model.describe(),
    requestedModel: chosen.requested,
    modelReason: chosen.reason,
    maxTokensField: chosen.provider?.maxTokensField,
    // Unless settings say otherwise, a resumed conversation keeps its lifetime: the cached prefix would be lost.
    cacheLifetime: settings.cache?.lifetime ?? thread.conversation?.head.cacheLifetime,
    tools: tools.executor.declarations(),
    absentTools: tools.absent,
    rules,
    asked: { mode: options.permissionMode, effort: options.effort, maxTurns: options.maxTurns },
    settings: { mode: permissions.defaultMode, effort: settings.effort, maxTurns: settings.maxTurns },
    workspaceRoot: cwd,
    additionalDirectories: existingDirectories(permissions.additionalDirectories ?? []),
    readableRoots: [outputDirectory, ...existingDirectories(loaded.readableRoots)],
    platform: platform(),
  });
}

interface MainAcceptance {
  readonly definition: Pick<Partial<AgentDefinition>, "acceptance">;
  /** Given by who opens the session. */
  readonly given: readonly string[];
  /** Of the session's own agent. */
  readonly policy: Policy;
}

/** What the work of a session's own agent has to stand. The host runs the commands, so it needs no shell of its own. */
export function mainAcceptance({ definition, given, policy }: MainAcceptance): { readonly acceptance?: Acceptance } {
  const own = definition.acceptance === undefined ? [] : [definition.acceptance];
  const commands = [...own, ...given];
  if (commands.length === 0) return {};
  const pool = [...new Set([...policy.pool, "Bash"])];
  return { acceptance: { commands, granted: given, policy: { ...policy, pool } } };
}

interface VerificationPlace {
  readonly settings: Settings;
  /** Of the session's own agent. */
  readonly policy: Policy;
  /** Those that work can be given to. */
  readonly offered: readonly string[];
}

/** What the setting `verify` means in a session with these agents. */
export function chooseVerification({ settings: { verify = "off" }, policy, offered }: VerificationPlace): {
  readonly verify?: "suggest" | "auto";
  readonly notices: readonly string[];
} {
  if (verify === "off") return { notices: [] };
  if (!offered.includes(VERIFIER)) {
    const notice = `The setting "verify" is "${verify}", but there is no agent ${VERIFIER} here: it is switched off or denied. Nothing is verified.`;
    return { notices: [notice] };
  }
  // Who can give no work is not told to.
  return verify === "suggest" && !policy.pool.includes("Task") ? { notices: [] } : { verify, notices: [] };
}

const delegation: ReadonlySet<string> = new Set(["Task", "TaskOutput", "TaskStop", "SendMessage"]);

/** An agent that only gives work to others: they are still measured by all that it might have had itself. */
export function coordinate(agent: ResolvedAgent): ResolvedAgent {
  const { head, policy } = agent;
  const pool = policy.pool.filter((tool) => delegation.has(tool));
  if (!pool.includes("Task")) throw nobodyThere();
  return {
    ...agent,
    head: { ...head, tools: head.tools.filter(({ name }) => pool.includes(name)), system: `${head.system}\n\n${role}` },
    policy: { ...policy, pool },
    childPolicy: policy,
  };
}

const role =
  "You coordinate: you have no tools but those that give work to agents. Divide what is asked into pieces that agents can do without knowing this conversation, start independent ones side by side, check their reports against each other, have gaps closed, and answer yourself.";

function nobodyThere(): UserError {
  const cure = "Leave --coordinator out, or let it use Task (permissions, tools of its agent, subagents.maxDepth).";
  return new UserError("A coordinator has nobody to give work to here", { code: "coordinator", cure, exitCode: 2 });
}

/** Who goes on with a session and names no model should know that another one answers: at other prices, without the cache. */
export function tellOfOtherModel(before: Head | undefined, now: Head): readonly string[] {
  if (before === undefined || before.provider === "lost") return [];
  if (before.provider === now.provider && before.model === now.model) return [];
  const [old, other] = [`${before.provider}/${before.model}`, `${now.provider}/${now.model}`];
  return [`${old} answered in this session so far, now ${other} does. To stay with it give --model ${old}.`];
}
