import { bash } from "./bash.ts";
import type { BuiltInAgent } from "./built-in-agent.ts";
import { compactProfile } from "./compact-profile.ts";
import { explore } from "./explore.ts";
import { generalPurpose } from "./general-purpose.ts";
import { plan } from "./plan.ts";
import { retinueGuide } from "./retinue-guide.ts";
import { statuslineSetup } from "./statusline-setup.ts";
import { verification } from "./verification.ts";

export interface BuiltInChoice {
  readonly profile?: "standard" | "compact" | undefined;
  /** Names or aliases of disabled agents. */
  readonly disabled?: readonly string[] | undefined;
  /** How Retinue was started. Values that begin with `sdk` mean as a library, which needs no guide to the program. */
  readonly entryPoint?: string | undefined;
}

/** Returns the built-in agents in a fixed order. */
export function builtInAgents({ profile, disabled = [], entryPoint }: BuiltInChoice = {}): readonly BuiltInAgent[] {
  const agents = profile === "compact" ? compactProfile : standard;
  const isLibrary = entryPoint?.startsWith("sdk") ?? false;
  const off = new Set(disabled);
  return agents.filter((agent) => {
    if (agent === retinueGuide && isLibrary) return false;
    return ![agent.definition.name, ...agent.aliases].some((name) => off.has(name));
  });
}

const standard: readonly BuiltInAgent[] = [
  generalPurpose,
  explore,
  plan,
  bash,
  statuslineSetup,
  retinueGuide,
  verification,
];
