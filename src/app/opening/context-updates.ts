import { contextText, createSkillCatalog } from "../../definitions/index.ts";
import type { AgentDefinition, LoadedSkill, Policy, Snapshot } from "../../protocol/index.ts";
import { offeredAgents } from "../../runs/index.ts";
import type { LoadedMainAgent } from "../agents/load-agents.ts";
import { agentList } from "../subagents/delegation.ts";

export interface ContextUpdatesOptions {
  readonly main: Pick<LoadedMainAgent, "agents" | "definition">;
  /** The main agent's policy. */
  readonly policy: Pick<Policy, "pool" | "rules" | "layers">;
  /** Returns a value that changes when the conversation is compacted. */
  readonly contextFloor: () => unknown;
}

/** Changes to files since the last prompt. */
export interface ContextUpdate {
  /** Text for the main agent; undefined if nothing has changed for it. */
  readonly text: string | undefined;
  /** Messages for the user. */
  readonly notices: readonly string[];
}

/** Definitions, skills and instructions that the agent has already seen. */
interface Known {
  readonly definitions: readonly AgentDefinition[];
  readonly agents: readonly AgentDefinition[];
  readonly snapshot: Snapshot | undefined;
  /** Messages about the project's agents. */
  readonly warnings: readonly string[];
}

/**
 * Returns a function that reads the files again and describes the changes since its last call. The list of skills in
 * the head never changes, so that the head stays cached. The list of agents does change, because providers may enforce
 * the enum of agent names.
 */
export function createContextUpdates(options: ContextUpdatesOptions): () => Promise<ContextUpdate> {
  const { main, policy, contextFloor } = options;
  const { pool } = policy;
  const { agents, definition } = main;
  const knownNow = (): Known => ({
    definitions: agents.definitions,
    agents: offeredAgents(agents, policy),
    snapshot: agents.snapshot,
    warnings: agents.warnings ?? [],
  });
  const mayRead = agents.skillCatalog === undefined && definition === undefined && pool.includes("Read");
  const skills = pool.includes("Skill") ? "call" : mayRead ? "read" : undefined;
  const first = knownNow();
  let known = first;
  let floor = contextFloor();
  return async () => {
    await agents.reload?.();
    const isCompacted = floor !== contextFloor();
    floor = contextFloor();
    // A compacted conversation may no longer contain earlier updates.
    const last = known;
    const before = isCompacted ? first : last;
    known = knownNow();
    const updates = [
      pool.includes("Task") ? agentUpdate(last, known) : undefined,
      skills && skillUpdate(before, known, skills),
      definition?.omitProjectContext ? undefined : instructionUpdate(before, known),
    ].filter((text) => text !== undefined);
    const text = updates.length === 0 ? undefined : updates.join("\n");
    const warnings = known.warnings.filter((notice) => !last.warnings.includes(notice));
    return { text, notices: [...goneNotices(last.definitions, known.definitions, definition?.name), ...warnings] };
  };
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

function agentUpdate(before: Known, now: Known): string | undefined {
  const parts = difference(agentLines(before.agents), agentLines(now.agents), "agent");
  return parts.length === 0 ? undefined : `[The agents that Task can start have changed.\n${parts.join("\n")}]`;
}

/** Returns each agent's line in the list that models see. Hidden agents are not in the list. */
function agentLines(definitions: readonly AgentDefinition[]): ReadonlyMap<string, string> {
  const shown = definitions.filter(({ hidden }) => hidden !== true);
  return new Map(shown.map((definition) => [definition.name, agentList([definition]).text]));
}

function skillUpdate(before: Known, now: Known, how: "call" | "read"): string | undefined {
  const parts = difference(skillLines(before.snapshot, how), skillLines(now.snapshot, how), "skill");
  const what =
    how === "call"
      ? "The skills that Skill can load have changed."
      : "Skills are now available: before you do the kind of work that a skill describes, read its file.";
  return parts.length === 0 ? undefined : `[${what}\n${parts.join("\n")}]`;
}

function skillLines(snapshot: Snapshot | undefined, how: "call" | "read"): ReadonlyMap<string, string> {
  const line = (skill: LoadedSkill): string | undefined => createSkillCatalog([skill])?.list();
  const lines = (snapshot?.skills ?? []).flatMap((skill): [string, string][] => {
    const text = line(skill);
    if (text === undefined) return [];
    const { name, file } = skill.definition;
    return [[name, how === "call" ? text : `${text} (${file})`]];
  });
  return new Map(lines);
}

function instructionUpdate(before: Known, now: Known): string | undefined {
  const [old, files] = [before.snapshot?.contextFiles ?? [], now.snapshot?.contextFiles ?? []];
  const versions = new Map(old.map(({ file, version }) => [file, version]));
  const changed = contextText(files.filter(({ file, version }) => versions.get(file) !== version));
  const gone = old.filter(({ file }) => !files.some((each) => each.file === file)).map(({ file }) => file);
  if (changed === undefined && gone.length === 0) return undefined;
  const parts = [
    ...(changed === undefined ? [] : [`These contents replace the earlier ones.\n\n${changed.trim()}`]),
    ...(gone.length === 0
      ? []
      : [`These files were removed, and their instructions no longer apply: ${gone.join(", ")}.`]),
  ];
  return `[Instruction files have changed. ${parts.join("\n")}]`;
}

type Lines = ReadonlyMap<string, string>;

function difference(before: Lines, now: Lines, what: string): readonly string[] {
  const added = [...now].filter(([name]) => !before.has(name)).map(([, line]) => line);
  const changed = [...now].filter(([name, line]) => (before.get(name) ?? line) !== line).map(([, line]) => line);
  const removed = [...before.keys()].filter((name) => !now.has(name));
  return [
    ...section(`New ${what}`, added),
    ...section(`Changed ${what}`, changed),
    ...(removed.length === 0 ? [] : [`Removed: ${removed.join(", ")}.`]),
  ];
}

const maxLines = 20;

function section(title: string, lines: readonly string[]): readonly string[] {
  if (lines.length === 0) return [];
  const more = lines.length > maxLines ? `\n- and ${lines.length - maxLines} more` : "";
  return [`${title}${lines.length === 1 ? "" : "s"}:\n${lines.slice(0, maxLines).join("\n")}${more}`];
}
