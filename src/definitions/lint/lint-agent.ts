import { estimateTokens } from "../../lib/index.ts";
import type { AgentDefinition, Diagnostic } from "../../protocol/index.ts";

export interface LintRequest {
  readonly definition: AgentDefinition;
  readonly body: string;
}

/**
 * Reports properties of a loaded agent that make delegation unreliable, expensive or unsafe, each with a suggestion.
 * Unknown tools are reported when the definition is read.
 */
export function lintAgent({ definition, body }: LintRequest): Diagnostic[] {
  const file = definition.file ?? `(${definition.source}) ${definition.name}`;
  return [
    ...lintDescription(definition.description),
    ...lintSize(definition, body),
    ...lintTools(definition),
    ...lintMode(definition),
    ...lintTurns(definition),
  ].map((finding) => ({ severity: "warning", file, line: 1, ...finding }));
}

/** The result of one check, without the file and severity, which are the same for all checks. */
type Finding = Pick<Diagnostic, "code" | "message" | "fix">;

const maxFrontmatterTokens = 200;
const maxBodyTokens = 2000;

function lintSize(definition: AgentDefinition, body: string): Finding[] {
  const { source: _source, file: _file, plugin: _plugin, ...written } = definition;
  const findings: Finding[] = [];
  const listed = estimateTokens(
    Object.entries(written)
      .map(([key, value]) => `${key}: ${typeof value === "string" ? value : JSON.stringify(value)}`)
      .join("\n"),
  );
  if (listed > maxFrontmatterTokens)
    findings.push({
      code: "long_frontmatter",
      message: `The frontmatter has about ${listed} tokens, which every session pays for. Up to ${maxFrontmatterTokens} is usual.`,
      fix: "Shorten the description to what the agent does, when to use it, and its limits; move examples into the body.",
    });
  const instructions = estimateTokens(body);
  if (instructions > maxBodyTokens)
    findings.push({
      code: "long_body",
      message: `The body has about ${instructions} tokens; up to ${maxBodyTokens} is usual.`,
      fix: "Keep what every run needs; move reference material into files or a skill.",
    });
  if (body.trim() === "")
    findings.push({
      code: "empty_body",
      message: "The body is empty, so the agent has no instructions of its own.",
      fix: "Describe the agent's role, method and expected report below the frontmatter.",
    });
  return findings;
}

function lintTools({ tools }: AgentDefinition): Finding[] {
  if (tools?.length !== 0) return [];
  return [
    {
      code: "no_tools",
      message: "The agent has no tools, so it can only answer from its prompt.",
      fix: "List the tools it needs, or delete the line to inherit all tools.",
    },
  ];
}

function lintMode({ permissionMode, tools, background }: AgentDefinition): Finding[] {
  if (permissionMode === "bypassPermissions")
    return [
      {
        code: "unsafe_mode",
        message: "bypassPermissions lets the agent run everything without asking.",
        fix: "Use acceptEdits or dontAsk, and allow the commands it needs with rules.",
      },
    ];
  const canRunAll = tools === undefined || tools.includes("Bash");
  if (permissionMode === "acceptEdits" && background === true && canRunAll)
    return [
      {
        code: "unsafe_mode",
        message:
          "The agent works in the background with acceptEdits and unrestricted Bash, so no one sees what it edits and runs.",
        fix: "List the commands it needs, such as Bash(npm test), or let it run in a worktree (isolation: worktree).",
      },
    ];
  return [];
}

interface TaskKind {
  readonly kind: string;
  readonly pattern: RegExp;
  readonly from: number;
  readonly to: number;
}

/** Kinds of tasks, sorted by turns in descending order, so that "search and refactor" is judged as refactoring. */
const kinds: readonly TaskKind[] = [
  { kind: "refactoring", pattern: /\b(?:refactor|migrat|moderni[sz]|restructur|upgrad)/i, from: 30, to: 50 },
  { kind: "generation", pattern: /\b(?:generat|creat|writ|implement|build|develop|scaffold)/i, from: 20, to: 30 },
  {
    kind: "exploration",
    pattern: /\b(?:explor|analy[sz]|investigat|understand|review|audit|research)/i,
    from: 15,
    to: 20,
  },
  { kind: "search", pattern: /\b(?:search|find|look up|locat|grep)/i, from: 10, to: 15 },
];

/**
 * Returns the range of turns for background agents: from half of the usual minimum to the middle of the usual range.
 * They get fewer turns, because no one notices when they make no progress.
 */
function backgroundRange({ from, to }: TaskKind): Pick<TaskKind, "from" | "to"> {
  return { from: Math.ceil(from / 2), to: Math.floor((from + to) / 2) };
}

function lintTurns({ name, description, maxTurns, background }: AgentDefinition): Finding[] {
  if (maxTurns === undefined) return [];
  const kind = kinds.find(({ pattern }) => pattern.test(`${name} ${description}`));
  if (kind === undefined) return [];
  const { from, to } = background === true ? backgroundRange(kind) : kind;
  if (maxTurns >= from && maxTurns <= to) return [];
  return [
    {
      code: "unusual_turns",
      message: `maxTurns is ${maxTurns}; ${from} to ${to} turns are usual for ${kind.kind}${background === true ? " in the background" : ""}.`,
      fix: `Set it to a number from ${from} to ${to}, unless you know from earlier runs that the agent needs ${maxTurns < from ? "fewer" : "more"}.`,
    },
  ];
}

/**
 * Checks that a description contains what makes delegation reliable: an action, when to use the agent, and its scope or
 * limits.
 */
function lintDescription(description: string): Finding[] {
  const text = description.replace(/\\n/g, " ").replace(/\s+/g, " ").trim();
  const findings: Finding[] = [];
  if (!beginsWithAction(text))
    findings.push({
      code: "no_action",
      message: "The description does not begin with what the agent does.",
      fix: 'Begin with a verb: "Review ...", "Execute ...", "Find ...".',
    });
  const trigger = triggerOf(text);
  if (trigger === undefined)
    findings.push({
      code: "no_trigger",
      message: "The description does not say when to use the agent.",
      fix: 'Add "Use when ..." with two or three concrete situations.',
    });
  else if (isVagueTrigger(trigger))
    findings.push({
      code: "vague_trigger",
      message: `"${trigger.slice(0, 60)}" does not name a situation.`,
      fix: 'Name concrete situations: "Use when exploring tables or generating reports".',
    });
  if (!statesScope(text))
    findings.push({
      code: "no_scope",
      message: "The description does not say what the agent does not do or what it is limited to.",
      fix: 'Add its scope: "SELECT only", "TypeScript files", "does not edit".',
    });
  const vague = vagueWords(text);
  if (vague.length > 0)
    findings.push({
      code: "vague_words",
      message: `These words are vague: ${vague.map((word) => `"${word}"`).join(", ")}.`,
      fix: "Name the action and what it applies to.",
    });
  return findings;
}

const leadIns =
  /^(?:proactively |automatically |an? |the |this agent |agent (?:that|for|to) |use this agent (?:when|to|for) |use (?:when|for|to) |must be used (?:when|for|to) )+/i;
/** Verbs that descriptions usually begin with: base form, third person or -ing. */
const actionWords =
  /^(?:[a-z]+(?:izes?|ises?|ifies|ify|ates?)|(?:analy[sz]|answer|apply|assess|audit|build|check|clean|compar|complet|configur|convert|coordinat|creat|debug|deploy|design|detect|develop|diagnos|document|draft|edit|enforc|ensur|execut|explain|explor|extract|find|fix|format|gather|guid|handl|help|implement|improv|inspect|investigat|lint|list|locat|maintain|manag|migrat|monitor|open|organi[sz]|orchestrat|perform|plan|prepar|produc|profil|query|read|refactor|remov|report|repair|research|resolv|review|rewrit|run|scan|search|set|simplif|solv|summari[sz]|test|trac|translat|turn|updat|upgrad|valid|verif|watch|writ)[a-z]*)\b/i;

function beginsWithAction(text: string): boolean {
  return actionWords.test(text.replace(leadIns, ""));
}

const triggers =
  /\b(?:use (?:it |this(?: agent| skill)? |proactively |immediately )*(?:when(?:ever)?|for|after|before|to|if|on)|must be used (?:when|for|after|before|to)|when(?:ever)? (?:you|the user|users|someone|asked|a|an|there|working|code)|trigger(?:s|ed)? (?:on|when|by)|call (?:it|this) (?:when|after|before|for)|proactively (?:when|after|for|before))\b[^.;!]*/i;

function triggerOf(text: string): string | undefined {
  return triggers.exec(text)?.[0].trim();
}

function isVagueTrigger(trigger: string): boolean {
  const situation = trigger.replace(
    /^.*?\b(?:when(?:ever)?|for|after|before|to|if|on|by)\b\s*(?:you need|the user (?:needs|wants)|asked)?\s*/i,
    "",
  );
  return (
    situation === "" ||
    genericWork.test(situation) ||
    /^(?:it is |it's |as )?(?:needed|necessary|required|appropriate|useful|help(?:ful)?|relevant|possible)\b/i.test(
      situation,
    )
  );
}

/** Matches a subject followed by a word that fits any work, as in "database work" or "code-related tasks". */
const genericWork =
  /^(?:[\w-]+ ){0,2}(?:work|tasks?|jobs?|operations?|activities|purposes?|needs?|matters?|stuff|things)$/i;

const scopes =
  /\b(?:only|never|not|nothing|without|no|read-?only|does not|do not|don't|blocked|limited to|restricted to|except|exclud\w+|focus(?:es|ed)? on|special(?:i[sz]es|i[sz]ed|ist) (?:in|for)|scope|within|outside|instead of|at most|up to|single|one)\b/i;

function statesScope(text: string): boolean {
  return scopes.test(text);
}

const vaguePhrases = [
  "various",
  "stuff",
  "things",
  "anything",
  "everything",
  "general help",
  "helps with",
  "perform operations",
  "database operations",
  "miscellaneous",
  "all kinds of",
  "when needed",
  "as needed",
  "if needed",
  "etc",
  "and more",
];

function vagueWords(text: string): string[] {
  const lower = text.toLowerCase();
  return vaguePhrases.filter((phrase) => new RegExp(`\\b${phrase}\\b`).test(lower));
}
