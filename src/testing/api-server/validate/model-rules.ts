/** What the Messages API requires of requests to one model, as of November 2026. */
export type ModelRules = {
  /** Effort levels that are accepted; all of them if absent. */
  efforts?: readonly string[];
  /** `thinking.type: adaptive` is refused. */
  budgetOnly?: boolean;
  /** `thinking.type: enabled`, with a token budget, is refused. Without the field, the model thinks adaptively. */
  adaptiveOnly?: boolean;
  /** `thinking.type: disabled` is refused. */
  alwaysThinks?: boolean;
  /** `thinking.type: between_tools` is accepted. */
  thinksBetweenTools?: boolean;
  /** A `tool_choice` that forces a call is refused. */
  freeToolChoice?: boolean;
  /** A thinking block is valid only after the system text, tools and messages after which it was written. */
  bindsThinking?: boolean;
  /** The conversation can be compacted on demand. */
  compacts?: boolean;
  /** Returns whether the model can read thinking that another model wrote. The API drops what the model can't read. */
  reads?: (writer: string) => boolean;
};

const current: ModelRules = { adaptiveOnly: true };
const always: ModelRules = { ...current, alwaysThinks: true, freeToolChoice: true };

const rules: Readonly<Record<string, ModelRules>> = {
  "claude-fable-5-2": { ...always, bindsThinking: true, reads: () => true },
  "claude-mythos-5-2": { ...always, bindsThinking: true, reads: () => true },
  "claude-fable-5-1": { ...always, compacts: true, bindsThinking: true, reads: (writer) => !isNewest(writer) },
  "claude-mythos-5-1": { ...always, compacts: true, reads: (writer) => !isNewest(writer) },
  "claude-opus-5-5": { ...always, compacts: true, bindsThinking: true, reads: isBefore55 },
  "claude-sonnet-5-5": {
    ...current,
    alwaysThinks: true,
    thinksBetweenTools: true,
    freeToolChoice: true,
    bindsThinking: true,
    reads: isBefore55,
  },
  "claude-haiku-5-5": { ...current, reads: isBefore55 },
  "claude-fable-5": { ...current, compacts: true },
  "claude-mythos-5": { ...current, compacts: true },
  "claude-opus-5": { ...current, compacts: true },
  "claude-sonnet-5": { ...current, compacts: true },
  "claude-opus-4-8": { ...current, compacts: true },
  "claude-opus-4-7": { ...current, compacts: true },
  "claude-opus-4-6": { efforts: ["low", "medium", "high", "max"], compacts: true },
  "claude-sonnet-4-6": { efforts: ["low", "medium", "high", "max"], compacts: true },
  "claude-opus-4-5": { efforts: ["low", "medium", "high"], budgetOnly: true },
  "claude-sonnet-4-5": { efforts: [], budgetOnly: true },
  "claude-haiku-4-5": { efforts: [], budgetOnly: true },
};

/** Returns the rules for a model. Models that are not listed have none. */
export function rulesOf(model: string): ModelRules {
  const undated = model.replace(/-\d{8}$/, "");
  return Object.hasOwn(rules, undated) ? (rules[undated] ?? {}) : {};
}

/** Returns whether a model can read the thinking of another model. Every model can read its own. */
export function canRead(reader: string, writer: string): boolean {
  const { reads = isBefore55 } = rulesOf(reader);
  return reader === writer || reads(writer);
}

/** Only the newest models can read each other's thinking. */
function isNewest(model: string): boolean {
  return /-5-2(-\d{8})?$/.test(model);
}

function isBefore55(writer: string): boolean {
  return !/^claude-(fable|mythos)/.test(writer) && !/-5-5(-\d{8})?$/.test(writer);
}
