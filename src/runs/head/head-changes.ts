import { type Head, runtimeText, type ToolDeclaration } from "../../protocol/index.ts";

export interface HeadChanges {
  /** Text for the model. Undefined if it has nothing to learn. */
  readonly text: string | undefined;
  /** Tools that the conversation can't use, because its head does not declare them. */
  readonly newTools: readonly string[];
}

interface ComparedHeads {
  /** Head of the conversation. */
  readonly declared: Head;
  /** Head up to which the conversation already describes changes. */
  readonly told: Head;
  /** Head that a new conversation would have. */
  readonly now: Head;
}

/** Describes how a new conversation's head differs from what a conversation contains so far. */
export function headChanges({ declared, told, now }: ComparedHeads): HeadChanges {
  const { gone, back, added, kept } = compareTools({ declared, told, now });
  const parts = [
    gone.length === 0
      ? ""
      : `These tools are no longer available, although they are still declared: ${gone.join(", ")}. Calls of them are refused, so continue without them.`,
    back.length === 0 ? "" : `These tools are available again: ${back.join(", ")}.`,
    added.length === 0
      ? ""
      : `New tools, which this conversation can't call until it is compacted: ${added.join(", ")}. Agents that are started now may have them.`,
    ...kept.map(([before, after]) => toolChanges(before, after)),
    systemChanges(told.system, now.system),
    sectionChanges(told.systemContext, now.systemContext, otherSections),
    sectionChanges(told.userContext, now.userContext, fileSections),
  ].filter((part) => part !== "");
  return { text: parts.length === 0 ? undefined : runtimeText(parts.join("\n\n")), newTools: added };
}

function compareTools({ declared, told, now }: ComparedHeads) {
  const [declaredTools, toldTools, tools] = [declared, told, now].map(toolsByName) as [Tools, Tools, Tools];
  const unknown = [...tools.keys()].filter((name) => !toldTools.has(name));
  return {
    gone: [...toldTools.keys()].filter((name) => !tools.has(name) && declaredTools.has(name)),
    back: unknown.filter((name) => declaredTools.has(name)),
    added: unknown.filter((name) => !declaredTools.has(name)),
    kept: [...tools].flatMap(([name, tool]): [ToolDeclaration, ToolDeclaration][] => {
      const before = toldTools.get(name) ?? declaredTools.get(name);
      return before && declaredTools.has(name) ? [[before, tool]] : [];
    }),
  };
}

type Tools = ReadonlyMap<string, ToolDeclaration>;

function toolsByName({ tools }: Head): Tools {
  return new Map(tools.map((tool) => [tool.name, tool]));
}

/** A tool whose description ends with a list of names that its input accepts. */
interface ListingTool {
  /** Text before the list. */
  readonly separator: string;
  readonly title: string;
  readonly what: string;
  /** Input property that contains one of the names. */
  readonly property: string;
  /** Appended if there are new names. */
  readonly aboutNew?: string;
}

const listingTools: Readonly<Record<string, ListingTool>> = {
  Task: {
    separator: "\nAgents:\n",
    title: "The agents that Task can start have changed.",
    what: "agent",
    property: "subagent_type",
    aboutNew: "Task accepts new names, even if its declaration does not list them.",
  },
  Skill: { separator: "\n\n", title: "The skills that Skill can load have changed.", what: "skill", property: "skill" },
};

function toolChanges(before: ToolDeclaration, now: ToolDeclaration): string {
  if (JSON.stringify(before) === JSON.stringify(now)) return "";
  const listing = listingTools[now.name];
  if (listing === undefined) return declarationChanges(before, now);
  const [old, current] = [splitList(before, listing), splitList(now, listing)];
  const parts = [declarationChanges(old.tool, current.tool), listChanges(old.list, current.list, listing)];
  return parts.filter((part) => part !== "").join("\n");
}

/** Separates a tool's list of names from the rest of its declaration. */
function splitList(tool: ToolDeclaration, { separator, property }: ListingTool) {
  const { description, inputSchema } = tool;
  const at = description.lastIndexOf(separator);
  const text = at === -1 ? description : description.slice(0, at);
  const properties = { ...(inputSchema["properties"] as object | undefined), [property]: {} };
  return {
    tool: { ...tool, description: text, inputSchema: { ...inputSchema, properties } },
    list: readList(at === -1 ? "" : description.slice(at + separator.length)),
  };
}

interface NameList {
  /** Each name with its line, or without a line if only the name is listed. */
  readonly lines: ReadonlyMap<string, string | undefined>;
  /** Whether the list names everything. */
  readonly isComplete: boolean;
}

/** Reads a list that `cappedList` wrote. */
function readList(text: string): NameList {
  const lines = new Map<string, string | undefined>();
  let isComplete = true;
  for (const line of linesOf(text)) {
    const name = /^- (.+?): /.exec(line)?.[1];
    const names = /^Also available, by name only: (.*)$/.exec(line)?.[1];
    if (name !== undefined) lines.set(name, line);
    else if (names !== undefined) for (const each of names.split(", ")) lines.set(each, undefined);
    else isComplete = false;
  }
  return { lines, isComplete };
}

function listChanges(before: NameList, now: NameList, { title, what, aboutNew }: ListingTool): string {
  const entries = [...now.lines];
  const added = entries.filter(([name]) => !before.lines.has(name)).map(([name, line]) => line ?? `- ${name}`);
  const changed = entries.flatMap(([name, line]) => (isChanged(before.lines.get(name), line) ? [line ?? ""] : []));
  const removed = now.isComplete ? [...before.lines.keys()].filter((name) => !now.lines.has(name)) : [];
  const parts = [
    ...linesSection(`New ${what}`, added),
    ...linesSection(`Changed ${what}`, changed),
    ...(removed.length === 0 ? [] : [`Removed: ${removed.join(", ")}.`]),
    ...(added.length === 0 || aboutNew === undefined ? [] : [aboutNew]),
  ];
  return parts.length === 0 ? "" : `${title}\n${parts.join("\n")}`;
}

/** Returns whether an entry's line has changed. A line that is missing or shortened depends on the other entries. */
function isChanged(before: string | undefined, now: string | undefined): boolean {
  return before !== undefined && now !== undefined && before !== now && !/…/.test(before + now);
}

const MOST_LINES = 20;

function linesSection(title: string, lines: readonly string[]): readonly string[] {
  if (lines.length === 0) return [];
  const more = lines.length > MOST_LINES ? `\n- and ${lines.length - MOST_LINES} more` : "";
  return [`${title}${lines.length === 1 ? "" : "s"}:\n${lines.slice(0, MOST_LINES).join("\n")}${more}`];
}

function declarationChanges(before: ToolDeclaration, now: ToolDeclaration): string {
  const parts = [...lineChanges(before.description, now.description), ...schemaChanges(before, now)];
  return parts.length === 0 ? "" : `The tool ${now.name} has changed.\n${parts.join("\n")}`;
}

function schemaChanges({ inputSchema: before }: ToolDeclaration, { inputSchema: now }: ToolDeclaration): string[] {
  const [old, current] = [before, now].map((schema) => ({ ...(schema["properties"] as object | undefined) })) as [
    Record<string, unknown>,
    Record<string, unknown>,
  ];
  const isNew = ([name, value]: [string, unknown]): boolean => JSON.stringify(old[name]) !== JSON.stringify(value);
  const changed = Object.fromEntries(Object.entries(current).filter(isNew));
  const removed = Object.keys(old).filter((name) => !Object.hasOwn(current, name));
  const required = JSON.stringify(now["required"] ?? []);
  return [
    ...(Object.keys(changed).length === 0 ? [] : [`New or changed input properties: ${JSON.stringify(changed)}`]),
    ...(removed.length === 0 ? [] : [`Removed input properties: ${removed.join(", ")}.`]),
    ...(required === JSON.stringify(before["required"] ?? []) ? [] : [`Required input properties: ${required}.`]),
  ];
}

/** Describes how a system prompt has changed. If little of it is left, the new one is given in full. */
function systemChanges(before: string, now: string): string {
  const changes = lineChanges(before, now);
  if (changes.length === 0) return "";
  const kept = linesOf(before)
    .filter((line) => now.includes(line))
    .join("").length;
  if (kept < before.length / 2 && now.trim() !== "")
    return `Your system prompt has been replaced. Follow this one from now on:\n\n${now.trim()}`;
  return `Your system prompt has changed.\n${changes.join("\n")}`;
}

function lineChanges(before: string, now: string): readonly string[] {
  const [old, current] = [linesOf(before), linesOf(now)];
  const added = current.filter((line) => !old.includes(line));
  const removed = old.filter((line) => !current.includes(line));
  return [
    ...(added.length === 0 ? [] : [`New:\n${added.join("\n")}`]),
    ...(removed.length === 0 ? [] : [`These lines no longer apply:\n${removed.join("\n")}`]),
  ];
}

function linesOf(text: string): readonly string[] {
  return text.split("\n").filter((line) => line.trim() !== "");
}

/** A text that consists of sections, each with a heading on a line of its own. */
interface Sections {
  readonly heading: RegExp;
  readonly title: string;
  /** Describes sections that are gone, by their headings. */
  readonly gone: (headings: readonly string[]) => string;
}

const fileSections: Sections = {
  heading: /^(?=Contents of .+ \(.+\):$)/m,
  title: "Instruction files have changed.",
  gone: (headings) => {
    const files = headings.map((heading) => heading.replace(/^Contents of (.+) \(.+$/, "$1"));
    return `These files were removed, and their instructions no longer apply: ${files.join(", ")}.`;
  },
};

const otherSections: Sections = {
  heading: /^(?=Instructions from the MCP server .+:$|Skills are now available: .+:$)/m,
  title: "Other instructions have changed.",
  gone: (headings) => `These no longer apply: ${headings.map((heading) => heading.replace(/:$/, "")).join("; ")}.`,
};

function sectionChanges(before: string, now: string, { heading, title, gone }: Sections): string {
  if (before === now) return "";
  const [old, current] = [sectionsIn(before, heading), sectionsIn(now, heading)];
  const changed = [...current].filter(([name, text]) => old.get(name) !== text).map(([, text]) => text);
  const removed = [...old.keys()].filter((name) => !current.has(name));
  const parts = [
    ...(changed.length === 0 ? [] : [`These contents replace the earlier ones.\n\n${changed.join("\n\n")}`]),
    ...(removed.length === 0 ? [] : [gone(removed)]),
  ];
  return parts.length === 0 ? "" : `${title} ${parts.join("\n")}`;
}

/** Returns the sections of a text by their headings. */
function sectionsIn(text: string, heading: RegExp): ReadonlyMap<string, string> {
  const parts = text.split(heading).map((part) => part.trim());
  return new Map(parts.filter((part) => part !== "").map((part) => [part.split("\n", 1)[0] ?? "", part]));
}
