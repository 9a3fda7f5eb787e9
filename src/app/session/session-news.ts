import {
  contextText,
  createSkillCatalog,
  delegationList,
  type LoadedSkill,
  type Snapshot,
} from "../../definitions/index.ts";
import type { AgentDefinition, Rule } from "../../protocol/index.ts";
import { offeredAgents } from "../../runs/index.ts";
import type { LoadedAgents } from "../agents/available-agents.ts";

/** What the session's agent has seen of what stands around it. */
export interface Seen {
  readonly agents: readonly AgentDefinition[];
  readonly snapshot: Snapshot | undefined;
}

export interface NewsRequest {
  readonly agents: LoadedAgents;
  readonly rules: readonly Rule[];
  /** What it was given when the session began: that stays in its head, for the cache. */
  readonly first: Seen;
  /** What of it the agent is told about. */
  readonly wants: { readonly agents: boolean; readonly skills: "call" | "read" | "no"; readonly context: boolean };
  /** Whether the conversation was made shorter since the last time: what was told then may be gone. */
  readonly hasForgotten: () => boolean;
}

/** Reads files again and says what has changed for the session's agent, in words for it; undefined: nothing. */
export function createSessionNews({ agents, rules, first, wants, hasForgotten }: NewsRequest) {
  let seen = first;
  return async (): Promise<string | undefined> => {
    await agents.renew?.();
    const before = hasForgotten() ? first : seen;
    seen = { agents: offeredAgents(agents, { rules }), snapshot: agents.snapshot };
    const news = [
      wants.agents ? agentNews(before, seen) : undefined,
      wants.skills === "no" ? undefined : skillNews(before, seen, wants.skills),
      wants.context ? contextNews(before, seen) : undefined,
    ].filter((words) => words !== undefined);
    return news.length === 0 ? undefined : news.join("\n");
  };
}

function agentNews(before: Seen, now: Seen): string | undefined {
  const parts = difference(agentLines(before.agents), agentLines(now.agents), "agent");
  return parts.length === 0 ? undefined : `[The agents for Task have changed.\n${parts.join("\n")}]`;
}

/** The line of each in the list that a model chooses from; hidden ones have none. */
function agentLines(definitions: readonly AgentDefinition[]): ReadonlyMap<string, string> {
  const shown = definitions.filter(({ hidden }) => hidden !== true);
  return new Map(shown.map((definition) => [definition.name, delegationList([definition]).text]));
}

function skillNews(before: Seen, now: Seen, how: "call" | "read"): string | undefined {
  const parts = difference(skillLines(before.snapshot, how), skillLines(now.snapshot, how), "skill");
  const what =
    how === "call"
      ? "The skills for Skill have changed."
      : "There are skills now: read the file of one before you do its kind of work.";
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

/** Whoever has the old words in its head is given the new ones behind them. */
function contextNews(before: Seen, now: Seen): string | undefined {
  const [old, files] = [before.snapshot?.contextFiles ?? [], now.snapshot?.contextFiles ?? []];
  const versions = new Map(old.map(({ file, version }) => [file, version]));
  const changed = contextText(files.filter(({ file, version }) => versions.get(file) !== version));
  const gone = old.filter(({ file }) => !files.some((each) => each.file === file)).map(({ file }) => file);
  if (changed === undefined && gone.length === 0) return undefined;
  const parts = [
    ...(changed === undefined
      ? []
      : [`What these files say now holds instead of what they said before.\n\n${changed.trim()}`]),
    ...(gone.length === 0 ? [] : [`No longer there, and no longer to be followed: ${gone.join(", ")}.`]),
  ];
  return `[Files with instructions have changed. ${parts.join("\n")}]`;
}

type Lines = ReadonlyMap<string, string>;

function difference(before: Lines, now: Lines, what: string): readonly string[] {
  const fresh = [...now].filter(([name]) => !before.has(name)).map(([, line]) => line);
  const other = [...now].filter(([name, line]) => (before.get(name) ?? line) !== line).map(([, line]) => line);
  const gone = [...before.keys()].filter((name) => !now.has(name));
  return [
    ...section(`New ${what}`, fresh),
    ...section(`Changed ${what}`, other),
    ...(gone.length === 0 ? [] : [`No longer there: ${gone.join(", ")}.`]),
  ];
}

const most = 20;

function section(title: string, lines: readonly string[]): readonly string[] {
  if (lines.length === 0) return [];
  const more = lines.length > most ? `\n- and ${lines.length - most} more` : "";
  return [`${title}${lines.length === 1 ? "" : "s"}:\n${lines.slice(0, most).join("\n")}${more}`];
}
