import type { WorkerSessionOptions } from "../ports/index.ts";
import type { Settings } from "../protocol/index.ts";
import { looksSecret } from "../workspace/index.ts";

/** Returns the sandbox settings in their long form. */
export function sandboxSettings({ sandbox = "auto" }: Settings): WorkerSessionOptions["sandbox"] {
  return typeof sandbox === "string" ? { mode: sandbox } : { ...sandbox, mode: sandbox.mode ?? "auto" };
}

/**
 * Returns the names of variables that settings pass to commands. Variables that settings define are included unless
 * they look secret.
 */
export function passedVariables({ env = {}, environment = {} }: Settings): readonly string[] {
  return [...Object.keys(env).filter((name) => !looksSecret(name)), ...(environment.pass ?? [])];
}
