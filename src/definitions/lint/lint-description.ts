import type { Finding } from "./finding.ts";

/** The formula that makes delegation reliable: an action, when to use it, its scope or limits. */
export function lintDescription(description: string): Finding[] {
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
      message: `"${trigger.slice(0, 60)}" names no situation.`,
      fix: 'Write what somebody would be doing: "Use when exploring tables or generating reports".',
    });
  if (!statesScope(text))
    findings.push({
      code: "no_scope",
      message: "The description does not say what the agent leaves alone or is limited to.",
      fix: 'Add its scope: "SELECT only", "TypeScript files", "does not edit".',
    });
  const vague = vagueWords(text);
  if (vague.length > 0)
    findings.push({
      code: "vague_words",
      message: `Says little: ${vague.map((word) => `"${word}"`).join(", ")}.`,
      fix: "Name the thing done and what it is done to.",
    });
  return findings;
}

const leadIns =
  /^(?:proactively |automatically |an? |the |this agent |agent (?:that|for|to) |use this agent (?:when|to|for) |use (?:when|for|to) |must be used (?:when|for|to) )+/i;
/** Verbs in the base form, the third person or with -ing; the list is what descriptions begin with, not a dictionary. */
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
    /^(?:it is |it's |as )?(?:needed|necessary|required|appropriate|useful|help(?:ful)?|relevant|possible)\b/i.test(
      situation,
    )
  );
}

const scopes =
  /\b(?:only|never|not|without|no|read-?only|does not|do not|don't|blocked|limited to|restricted to|except|exclud\w+|focus(?:es|ed)? on|special(?:i[sz]es|i[sz]ed|ist) (?:in|for)|scope|within|outside|instead of|at most|up to|single|one)\b/i;

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
