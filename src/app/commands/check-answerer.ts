import { isInSessionOf, type ProcessIdentity, processOrigin, UserError } from "../../lib/index.ts";

/**
 * Throws a `UserError` if this process may be a command run by an agent, which must not answer for a person. Accepts a
 * process, such as the script that started the run, if it is in the same operating-system session as the process that
 * asks, because each command of an agent runs in a separate operating-system session. Also accepts a process in a
 * terminal, unless an agent's command started it. On systems without /proc, only the environment is checked.
 */
export function checkAnswerer(asker: ProcessIdentity | undefined): void {
  if (hasAgentEnvironment()) throw agentCommand("answer for a person");
  const origin = processOrigin();
  if (origin === undefined || (asker !== undefined && isInSessionOf(asker))) return;
  if (origin.isTagged) throw agentCommand("answer for a person");
  if (origin.hasTerminal) return;
  const message = "This answer comes neither from a terminal nor from the script that started the run";
  const fix =
    "Answer in your own terminal, or in that script. To decide without a person, use rules or a PermissionRequest hook (--on-ask hook).";
  throw new UserError(message, { code: "approval", fix });
}

/** Throws a `UserError` if this process, or a process that started it, was started by an agent. */
export function refuseAgentCommand(what: string): void {
  if (isAgentCommand()) throw agentCommand(what);
}

/**
 * Returns whether this process, or a process that started it, was started by an agent. On systems without /proc, only
 * the environment is checked.
 */
export function isAgentCommand(): boolean {
  return hasAgentEnvironment() || processOrigin()?.isTagged === true;
}

/** Returns true if this process's environment says that an agent started it. */
function hasAgentEnvironment(): boolean {
  const { env } = process;
  return env["RETINUE_CALL_ID"] !== undefined || env["RETINUE_TAG"] !== undefined;
}

function agentCommand(what: string): UserError {
  const fix = "Do it in your own terminal.";
  return new UserError(`A command run by an agent can't ${what}`, { code: "agent_command", fix });
}
