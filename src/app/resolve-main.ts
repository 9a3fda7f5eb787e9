import { platform } from "node:os";
import { type AgentResolution, resolvePlain } from "../agents/index.ts";
import type { Rule } from "../protocol/index.ts";
import type { OpenedSession } from "./opened-session.ts";
import { existingDirectories } from "./places.ts";
import type { SessionOptions } from "./session-options.ts";
import type { SessionTools } from "./session-tools.ts";

export interface MainPlace extends Pick<OpenedSession, "settings" | "cwd" | "chosen" | "loaded" | "thread"> {
  readonly tools: SessionTools;
  readonly rules: readonly Rule[];
  readonly outputDirectory: string;
}

/** The session's own agent, by options, settings and its definition. */
export async function resolveMain(options: SessionOptions, place: MainPlace): Promise<AgentResolution> {
  const { settings, cwd, chosen, loaded, thread, tools, rules, outputDirectory } = place;
  const { permissions = {} } = settings;
  const { maxTokensField } = chosen.provider ?? {};
  const request = {
    ...loaded,
    model: chosen.model.describe(),
    requestedModel: chosen.requested,
    modelReason: chosen.reason,
    ...(maxTokensField ? { maxTokensField } : {}),
    // Where nobody says otherwise, what was kept for an hour is asked for in the same way: else it would be lost.
    cacheLifetime: settings.cache?.lifetime ?? thread.conversation?.head.cacheLifetime,
    tools: tools.hands.declarations(),
    absentTools: tools.absent,
    rules,
    asked: { mode: options.permissionMode, effort: options.effort, maxTurns: options.maxTurns },
    settings: { mode: permissions.defaultMode, effort: settings.effort, maxTurns: settings.maxTurns },
    workspaceRoot: cwd,
    additionalDirectories: existingDirectories(permissions.additionalDirectories ?? []),
    readableRoots: [outputDirectory, ...existingDirectories(loaded.readableRoots)],
    platform: platform(),
  };
  if (loaded.definition === undefined && rules.length === 0) return resolvePlain(request);
  const { resolveAgent } = await import("../agents/index.ts");
  return resolveAgent(request);
}
