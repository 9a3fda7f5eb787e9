import { type BuiltInAgent, explore, generalPurpose, retinueGuide, standardAgents } from "./standard-agents.ts";

export interface BuiltInChoice {
  readonly profile?: "standard" | "compact" | undefined;
  /** Names or aliases of disabled agents. */
  readonly disabled?: readonly string[] | undefined;
  /**
   * How Retinue was started. A value that begins with `sdk` means that Retinue is used as a library, which does not
   * need the guide agent.
   */
  readonly entryPoint?: string | undefined;
}

/** Returns the built-in agents in a fixed order. */
export function builtInAgents({ profile, disabled = [], entryPoint }: BuiltInChoice = {}): readonly BuiltInAgent[] {
  const agents = profile === "compact" ? compactAgents : standardAgents;
  const isLibrary = entryPoint?.startsWith("sdk") ?? false;
  const off = new Set(disabled);
  return agents.filter((agent) => {
    if (agent === retinueGuide && isLibrary) return false;
    return ![agent.definition.name, ...agent.aliases].some((name) => off.has(name));
  });
}

const FIVE_MINUTES = 300_000;

/**
 * Limits of the compact profile for agents that set none. When the time is up, the agent ends with the work done so
 * far.
 */
export const compactLimits = { maxTurns: 10, timeoutMs: FIVE_MINUTES } as const;

/**
 * The agents of the compact profile, which is for servers that run many short tasks. Permission rules, not lists of
 * tools, limit what these agents may do.
 */
const compactAgents: readonly BuiltInAgent[] = [
  {
    definition: {
      name: "explore",
      source: "built-in",
      description: explore.definition.description,
      permission: [
        { tool: "*", effect: "deny" },
        { tool: "grep", effect: "allow" },
        { tool: "glob", effect: "allow" },
        { tool: "list_dir", effect: "allow" },
        { tool: "read_file", effect: "allow" },
        { tool: "web_fetch", effect: "allow" },
        { tool: "web_search", effect: "allow" },
      ],
      maxTurns: 15,
      timeoutMs: FIVE_MINUTES,
    },
    aliases: ["Explore"],
    prompt: explore.prompt,
  },
  {
    definition: {
      name: "general",
      source: "built-in",
      description: generalPurpose.definition.description,
      permission: [{ tool: "*", effect: "allow" }],
      maxTurns: 20,
      timeoutMs: FIVE_MINUTES,
    },
    aliases: ["general-purpose"],
    prompt: generalPurpose.prompt,
  },
];
