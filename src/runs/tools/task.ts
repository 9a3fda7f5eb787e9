import { boundText, formatCount } from "../../lib/index.ts";
import type { Tool, ToolContext, ToolFace, ToolOutput } from "../../ports/index.ts";
import type { JsonObject } from "../../protocol/index.ts";
import type { Delegated, Delegation } from "../delegation.ts";
import type { Dispatcher } from "../dispatcher.ts";
import type { EndedRun } from "../run-host.ts";
import { launchedText, refusalText, resultText } from "../task-text.ts";

const longestReport = 32_000;
/** Its agent has clocks of its own. */
const noLimit = Number.MAX_SAFE_INTEGER;

export function createTask(dispatcher: Dispatcher): Omit<Tool, keyof ToolFace> {
  return {
    timeoutMs: () => noLimit,
    abortGraceMs: 5_000,
    maxCharacters: longestReport + 2_000,
    run: async (input, context) => {
      const wish = readWish(input);
      const { resume } = input;
      if (typeof resume === "string" && resume !== "") return resumeAgent(dispatcher, { resume, wish, context });
      if (wish.agentType === "") {
        return refused("", `subagent_type is missing. There are ${dispatcher.offered().join(", ")}.`);
      }
      return present(await dispatcher.delegate(wish, context), { wish, dispatcher });
    },
  };
}

function readWish(input: JsonObject): Delegation {
  const { model, max_turns: maxTurns, name, acceptance } = input;
  return {
    agentType: String(input["subagent_type"] ?? ""),
    description: String(input["description"]).slice(0, 200),
    prompt: String(input["prompt"]),
    background: input["run_in_background"] === true,
    ...(typeof name === "string" && name !== "" ? { name } : {}),
    ...(typeof model === "string" && model !== "" ? { model } : {}),
    ...(typeof maxTurns === "number" ? { maxTurns } : {}),
    ...(input["isolation"] === "worktree" ? { isolation: "worktree" } : {}),
    ...(typeof acceptance === "string" && acceptance !== "" ? { acceptance } : {}),
  };
}

async function resumeAgent(
  dispatcher: Dispatcher,
  { resume, wish, context }: { readonly resume: string; readonly wish: Delegation; readonly context: ToolContext },
): Promise<ToolOutput> {
  const record = await dispatcher.find(resume);
  if (record === undefined) return refused(wish.agentType, await unknownId(dispatcher, resume));
  const { agentId, agentType } = record;
  if (wish.agentType !== "" && wish.agentType !== agentType)
    return refused(
      wish.agentType,
      `Agent ${agentId} is of the type ${agentType}. Resume it as that, or leave subagent_type out.`,
    );
  if (dispatcher.isRunning(agentId))
    return refused(agentType, `Agent ${agentId} is still running. Use SendMessage to tell it something.`);
  return present(await dispatcher.resume(agentId, { ...wish, agentType }, context), {
    wish: { ...wish, agentType },
    dispatcher,
  });
}

/** The valid choices are named. */
export async function unknownId(dispatcher: Dispatcher, id: string): Promise<string> {
  const records = await dispatcher.records();
  const known = records.map(({ agentId, agentType, description }) => `${agentId} (${agentType}: ${description})`);
  const choices = known.length === 0 ? "No agent was started in this session." : `There are ${known.join(", ")}.`;
  return `There is no agent ${id} in this session. ${choices}`;
}

function present(
  delegated: Delegated,
  { wish }: { readonly wish: Delegation; readonly dispatcher: Dispatcher },
): ToolOutput {
  if (delegated.status === "refused") return refused(wish.agentType, delegated.message);
  if (delegated.status === "launched") {
    const { agentId } = delegated.notice;
    const { outputFile } = delegated;
    const where = outputFile === undefined ? {} : { outputFile };
    const { description, prompt } = wish;
    return {
      content: launchedText({ agentId, ...where }),
      details: { status: "async_launched", agentId, description, prompt, ...where },
      facts: { launched: delegated.notice },
    };
  }
  return report(delegated.run);
}

function report(run: EndedRun): ToolOutput {
  const { end, agentId, agentType, worktree, acceptance } = run;
  const { text, truncated } = boundText(end.text, { maxCharacters: longestReport });
  const rest = truncated
    ? `\n[The report has ${formatCount(end.text.length)} characters; TaskOutput shows it whole.]`
    : "";
  const isError = end.outcome === "failed" || end.outcome === "stopped";
  return {
    content: resultText(run, text + rest),
    isError,
    details: {
      status: isError ? "failed" : "completed",
      agentId,
      agentType,
      outcome: end.outcome,
      reason: end.reason,
      turns: end.turns,
      usage: { ...end.usage },
      totalDurationMs: end.milliseconds,
      ...(end.costUsd === undefined ? {} : { costUsd: end.costUsd }),
      ...(worktree ? { worktreePath: worktree.path, worktreeBranch: worktree.branch } : {}),
      ...(acceptance ? { verified: acceptance.ok } : {}),
    },
    facts: {
      filesChanged: end.facts.filesChanged,
      agent: { agentId, runId: end.runId, outcome: end.outcome },
    },
  };
}

function refused(agentType: string, message: string): ToolOutput {
  return { content: refusalText(agentType, message), isError: true, details: { status: "refused" } };
}
