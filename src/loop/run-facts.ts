import {
  type Changes,
  type EndedNotice,
  type RunFacts,
  type ToolCall,
  type ToolResult,
  textOf,
} from "../protocol/index.ts";

/** Adds what a call did to the facts about a run. */
export function withCallFacts(before: RunFacts, call: ToolCall, result: ToolResult): RunFacts {
  const { callId, name, inputJson } = call;
  const { command, agent } = result.facts ?? {};
  const facts = agent?.changes ? withChanges(before, agent.changes) : before;
  const denied = result.outcome === "denied";
  return {
    ...facts,
    toolCalls: { ...facts.toolCalls, [name]: (facts.toolCalls[name] ?? 0) + 1 },
    filesChanged: added(facts.filesChanged, result.facts?.filesChanged ?? []),
    commands: command ? [...facts.commands, command] : facts.commands,
    denied: denied ? [...facts.denied, { tool: name, input: inputJson, reason: textOf(result.content) }] : facts.denied,
    unknown: result.outcome === "unknown" ? [...facts.unknown, callId] : facts.unknown,
    agentsCut: agent && isCut(agent) ? facts.agentsCut + 1 : facts.agentsCut,
  };
}

/** Adds what a subagent has changed to the facts about its parent's run. */
export function withChanges(facts: RunFacts, { files, commands }: Changes): RunFacts {
  const filesChanged = added(facts.filesChanged, files);
  return commands.length === 0
    ? { ...facts, filesChanged }
    : { ...facts, filesChanged, agentCommands: [...(facts.agentCommands ?? []), ...commands] };
}

/** Adds the files that are not in the list yet. */
function added(files: readonly string[], more: readonly string[]): readonly string[] {
  return more.every((file) => files.includes(file)) ? files : [...new Set([...files, ...more])];
}

export function isCut({ outcome }: EndedNotice): boolean {
  return outcome === "incomplete";
}
