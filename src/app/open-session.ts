import type { AgentDefinition } from "../protocol/index.ts";
import { assembleSession } from "./assemble-session.ts";
import { type ChosenModel, chooseModel } from "./choose-model.ts";
import { checkMode, environmentFor } from "./heed-settings.ts";
import { loadDefinedAgents } from "./load-defined-agents.ts";
import { openThread } from "./open-thread.ts";
import type { Surroundings } from "./opened-session.ts";
import { workspaceDirectory } from "./places.ts";
import type { Session } from "./session.ts";
import type { SessionOptions } from "./session-options.ts";
import { systemClock } from "./system-clock.ts";

/** Opens a new session, or an old one to go on with. Throws a `UserError` for what a person must repair. */
export async function openSession(options: SessionOptions = {}): Promise<Session> {
  const { clock = systemClock, settings = {} } = options;
  const environment = environmentFor(settings, options.environment ?? process.env);
  checkMode(settings, options.permissionMode);
  const cwd = workspaceDirectory(options.cwd ?? process.cwd());
  const surroundings = { environment, clock, settings, cwd };
  let files = options.resume === undefined ? undefined : await openThread(options, surroundings);
  try {
    const defined = await loadDefinedAgents(options, { ...surroundings, before: files?.thread.agentType });
    const chosen = choose(options, surroundings, defined.loaded.definition);
    // Only now: a session that can't begin leaves no files.
    files ??= await openThread(options, surroundings);
    return await assembleSession(options, { ...surroundings, ...files, ...defined, chosen });
  } catch (error) {
    await files?.transcript.close();
    throw error;
  }
}

function choose(
  options: SessionOptions,
  { settings, environment, clock }: Surroundings,
  agent: AgentDefinition | undefined,
): ChosenModel {
  const { model, provider } = options;
  if (typeof model === "object") return { model, requested: null, reason: "given by the program" };
  return chooseModel({
    settings,
    environment,
    clock,
    flags: { ...(provider ? { provider } : {}), ...(model ? { model } : {}) },
    ...(agent ? { agent } : {}),
  });
}
