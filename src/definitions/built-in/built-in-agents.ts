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
  readonly profile?: "standard" | "compact";
  /** Names or aliases that are switched off. */
  readonly disabled?: readonly string[];
  /** How the program was entered; values that begin with `sdk` mean as a library, where nobody asks about the program. */
  readonly entryPoint?: string;
}

/** The agents that are there before any file is read, in a fixed order. */
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
