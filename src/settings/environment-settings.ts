type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Reads settings from environment variables. Claude Code's variables are read too; Retinue's own variables take
 * precedence.
 */
export function environmentSettings(environment: Environment): {
  readonly values: Readonly<Record<string, unknown>>;
  readonly notices: readonly string[];
} {
  const subagents: Record<string, unknown> = {};
  if (isOn(environment, "ALLOW_MCP_TOOLS_FOR_SUBAGENTS")) subagents["mcpTools"] = "always";
  if (isBackgroundOff(environment)) subagents["background"] = false;
  if (environment["CLAUDE_CODE_ENTRYPOINT"]?.startsWith("sdk")) subagents["guide"] = false;
  const values: Record<string, unknown> = {};
  if (Object.keys(subagents).length > 0) values["subagents"] = subagents;
  const { percent, notices } = compactionPercent(environment);
  if (percent !== undefined) values["compaction"] = { percent };
  return { values, notices };
}

function isOn(environment: Environment, name: string): boolean {
  return isSet(environment[`RETINUE_${name}`] ?? environment[`CLAUDE_CODE_${name}`]);
}

/** Returns true if the environment forbids running agents in the background. */
export function isBackgroundOff(environment: Environment): boolean {
  const names = ["RETINUE_DISABLE_BACKGROUND", "DISABLE_BACKGROUND_TASKS"];
  return isOn(environment, "DISABLE_BACKGROUND_TASKS") || names.some((name) => isSet(environment[name]));
}

function isSet(value: string | undefined): boolean {
  return value !== undefined && !["", "0", "false", "no", "off"].includes(value.toLowerCase());
}

function compactionPercent(environment: Environment): { percent?: number; notices: readonly string[] } {
  const names = ["RETINUE_AUTOCOMPACT_PCT", "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE"];
  const name = names.find((candidate) => environment[candidate]);
  const text = name === undefined ? undefined : environment[name];
  if (text === undefined) return { notices: [] };
  const percent = Number(text);
  if (/^\d+(\.\d+)?$/.test(text) && percent >= 1 && percent <= 100) return { percent, notices: [] };
  return { notices: [`${name} is "${text}", which is not a percentage from 1 to 100; it has no effect.`] };
}
