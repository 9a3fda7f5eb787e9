import { type Policy, type Settings, VERIFIER } from "../protocol/index.ts";

export interface VerificationPlace {
  readonly settings: Settings;
  /** Of the session's own agent. */
  readonly policy: Policy;
  /** Those that work can be given to. */
  readonly offered: readonly string[];
}

/** What the setting `verify` means in a session with these agents. */
export function chooseVerification({ settings: { verify = "off" }, policy, offered }: VerificationPlace): {
  readonly verify?: "suggest" | "auto";
  readonly notices: readonly string[];
} {
  if (verify === "off") return { notices: [] };
  if (!offered.includes(VERIFIER)) {
    const notice = `The setting "verify" is "${verify}", but there is no agent ${VERIFIER} here: it is switched off or denied. Nothing is verified.`;
    return { notices: [notice] };
  }
  // Who can give no work is not told to.
  return verify === "suggest" && !policy.pool.includes("Task") ? { notices: [] } : { verify, notices: [] };
}
