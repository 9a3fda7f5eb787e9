import { declareTool, type ResolvedAgent } from "../../agents/index.ts";
import { contextText, createSkillCatalog } from "../../definitions/index.ts";
import type { AgentDefinition, Head, ToolDeclaration } from "../../protocol/index.ts";
import type { RefreshedAgent } from "../../runs/index.ts";
import type { LoadedMainAgent } from "../agents/load-agents.ts";
import { type TaskToolOf, withTaskTool } from "../subagents/delegation.ts";

export interface RefreshOptions {
  readonly main: Pick<LoadedMainAgent, "agents" | "definition">;
  /** Returns the session's tools with their current lists of agents and skills. */
  readonly declarations: () => readonly ToolDeclaration[];
  readonly taskToolOf: TaskToolOf;
  /** Returns the head of the main agent's conversation. Undefined if the conversation has not begun. */
  readonly conversationHead: () => Head | undefined;
}

/**
 * Returns a function that reads agents, skills and instructions again before a run, except before the first one. The
 * main agent gets the head that a new session would have. Never rejects.
 */
export function createRefresh(options: RefreshOptions): (agent: ResolvedAgent) => Promise<RefreshedAgent> {
  const { main } = options;
  const { agents, definition } = main;
  const knownNow = () => ({ definitions: agents.definitions, warnings: agents.warnings ?? [] });
  let known = knownNow();
  const declaredAtOpening = options.declarations();
  let isFirst = true;
  return async (agent) => {
    if (!isFirst) await agents.reload?.();
    const isUpToDate =
      isFirst && options.conversationHead() === undefined && options.declarations() === declaredAtOpening;
    isFirst = false;
    if (isUpToDate) return { agent, notices: [] };
    const before = known;
    known = knownNow();
    const warnings = known.warnings.filter((notice) => !before.warnings.includes(notice));
    const gone = goneNotices(before.definitions, known.definitions, definition?.name);
    const { head } = withTaskTool({ ...agent, head: currentHead(agent, options) }, options.taskToolOf);
    // The same object is returned for the same head, because the bytes of heads are cached per object.
    const isSame = JSON.stringify(head) === JSON.stringify(agent.head);
    return { agent: isSame ? agent : { ...agent, head }, notices: [...gone, ...warnings] };
  };
}

function currentHead({ head, policy }: ResolvedAgent, options: RefreshOptions): Head {
  const { agents, definition } = options.main;
  const declared = new Map(options.declarations().map((tool) => [tool.name, declareTool(tool, policy.pool)]));
  const files = agents.snapshot?.contextFiles;
  return {
    ...head,
    tools: head.tools.flatMap(({ name }) => declared.get(name) ?? []),
    systemContext: [head.systemContext, skillFiles(policy.pool, options)].filter((text) => text !== "").join("\n\n"),
    userContext: files === undefined || definition?.omitProjectContext ? head.userContext : (contextText(files) ?? ""),
  };
}

const MOST_SKILLS = 20;

/** Lists the files of skills for a conversation that can't load them with Skill, because it began without skills. */
function skillFiles(pool: readonly string[], { main, conversationHead }: RefreshOptions): string {
  const { agents, definition } = main;
  const conversation = conversationHead();
  const canCall = conversation === undefined || conversation.tools.some(({ name }) => name === "Skill");
  if (canCall || definition !== undefined || !pool.includes("Read")) return "";
  const lines = (agents.snapshot?.skills ?? []).flatMap((skill) => {
    const line = createSkillCatalog([skill])?.list();
    return line === undefined ? [] : [`${line} (${skill.definition.file})`];
  });
  if (lines.length === 0) return "";
  const more = lines.length > MOST_SKILLS ? [`- and ${lines.length - MOST_SKILLS} more`] : [];
  const title = "Skills are now available: before you do the kind of work that a skill describes, read its file:";
  return [title, ...lines.slice(0, MOST_SKILLS), ...more].join("\n");
}

/** Reports agents whose file no longer defines them, and what replaces them. */
function goneNotices(
  before: readonly AgentDefinition[],
  now: readonly AgentDefinition[],
  main: string | undefined,
): readonly string[] {
  return before.flatMap(({ name, file }) => {
    const other = now.find((each) => each.name === name);
    if (file === undefined || other?.file === file) return [];
    const successor = other && `${other.file ?? `A ${other.source} agent`} replaces it.`;
    const rest =
      name === main
        ? "This session's agent keeps its old definition."
        : (successor ?? "Runs in progress continue, but the agent can't be started or resumed.");
    return [`The agent "${name}" was removed: ${file} was deleted, or no longer defines it. ${rest}`];
  });
}
