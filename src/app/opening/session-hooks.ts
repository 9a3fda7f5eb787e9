import { createHooks, type FunctionHook, type Hook, type HookFunction, matcherNotices } from "../../hooks/index.ts";
import { isRecord } from "../../lib/index.ts";
import type { Hooks, WorkerSession } from "../../ports/index.ts";
import {
  type AgentDefinition,
  type AgentId,
  type HookSource,
  hookEvents,
  MAIN_AGENT,
  type PluginParts,
  readHookEntries,
  type SessionId,
  type Settings,
  type SettingsOrigin,
} from "../../protocol/index.ts";
import type { LoadedAgents } from "../agents/available-agents.ts";
import { placeOf } from "../settings/setting-place.ts";
import type { SessionContext } from "./session-context.ts";
import type { SessionHookOptions, SessionOptions } from "./session-options.ts";

export interface SessionHooks {
  /** The main agent's hooks; undefined if there are none. */
  readonly main?: Hooks | undefined;
  /** Hooks of all subagents; undefined if there are none. */
  readonly shared?: Hooks | undefined;
  /** Returns the hooks of a subagent whose definition contains hooks; undefined if only the shared hooks apply. */
  forAgent(definition: AgentDefinition): Hooks | undefined;
  readonly notices: readonly string[];
}

interface HookOwner {
  /** The main agent's definition. */
  readonly definition: AgentDefinition | undefined;
  /** Agents that the main agent can start. */
  readonly agents: Pick<LoadedAgents, "definitions">;
  readonly transcript: { readonly sessionId: SessionId; readonly path: string | undefined };
  /** Contributions from enabled plugins. */
  readonly plugins: PluginParts;
  /** Runs hook commands. */
  readonly worker: WorkerSession;
}

export function createSessionHooks(
  options: SessionOptions,
  context: SessionContext,
  { definition, agents, transcript, plugins, worker }: HookOwner,
): SessionHooks {
  const { settings } = context;
  const { hooks, notices } = configuredHooks(options, settings, plugins);
  const own = definitionHooks(definition, settings);
  const opened = createHooks({
    hooks,
    own,
    runCommand: worker.runHook,
    sessionId: transcript.sessionId,
    transcriptPath: (agentId) => transcriptPath(transcript.path, agentId),
  });
  const names = {
    tools: (options.tools ?? []).map(({ name }) => name),
    agents: agents.definitions.map(({ name }) => name),
  };
  // In this case, all requests for approval are denied, and a notice tells the user.
  const missesHook = options.onAsk === "hook" && !opened.has("PermissionRequest");
  return {
    main: hooks.length + own.length === 0 ? undefined : opened,
    shared: hooks.length === 0 ? undefined : opened.forAgent([]),
    forAgent: (subagent) => {
      const added = definitionHooks(subagent, settings);
      return added.length === 0 ? undefined : opened.forAgent(added);
    },
    notices: [
      ...notices,
      ...hooks.flatMap((hook) => matcherNotices(hook, names)),
      ...own.flatMap((hook) => matcherNotices(hook, { ...names, owner: definition?.name })),
      ...(missesHook ? [missingHook] : []),
    ],
  };
}

const missingHook = "There is no PermissionRequest hook, so calls that need approval are denied.";

function transcriptPath(main: string | undefined, agentId: AgentId): string | undefined {
  return agentId === MAIN_AGENT ? main : main?.replace(/\.jsonl$/, `/subagents/agent-${agentId}.jsonl`);
}

interface ConfiguredHooks {
  readonly hooks: readonly Hook[];
  readonly notices: readonly string[];
}

/** Returns the hooks from the settings, then from plugins, then from the embedding program. */
export function configuredHooks(
  options: Pick<SessionOptions, "settingsOrigins" | "hooks">,
  settings: Settings,
  plugins: PluginParts,
): ConfiguredHooks {
  const fromSettings = settingsHooks(settings, options.settingsOrigins);
  const fromPlugins = settings.disableAllHooks ? { hooks: [], notices: [] } : pluginHooks(plugins);
  return {
    hooks: [...fromSettings.hooks, ...fromPlugins.hooks, ...functionHooks(options.hooks)],
    notices: [...fromSettings.notices, ...fromPlugins.notices],
  };
}

function pluginHooks({ hooks, notices }: PluginParts): ConfiguredHooks {
  return { hooks: hooks.map((hook) => ({ kind: "command", source: "plugin", ...hook })), notices };
}

/** Returns the hooks in settings files, each with its file and line. */
function settingsHooks(
  { hooks: value = {}, disableAllHooks }: Settings,
  origins: readonly SettingsOrigin[] | undefined,
): ConfiguredHooks {
  // Only the administrator can disable managed hooks.
  const allAreOff = origins?.some(({ path, scope }) => path === "disableAllHooks" && scope === "managed");
  const read = Object.entries(value).flatMap(([event, entries]) =>
    (Array.isArray(entries) ? entries : [entries]).flatMap((entry, index) => {
      const path = `hooks.${event}${Array.isArray(entries) ? `[${index}]` : ""}`;
      const found = originsOf({ entry, path }, origins);
      const scopes = found.map(({ scope }) => scope);
      if (disableAllHooks && (allAreOff || scopes.length === 0 || scopes.some((scope) => scope !== "managed")))
        return [];
      // A hook that is merged from several files is attributed to the least trusted of them.
      const isProject = scopes.some((scope) => scope === "project" || scope === "local");
      const source: HookSource = isProject ? "project" : "user";
      const { hooks, problems } = readHookEntries({ [event]: [entry] });
      const where = placeOf(found[0]);
      return { hooks: hooks.map((hook): Hook => ({ kind: "command", source, where, ...hook })), problems };
    }),
  );
  // Problems in settings files were reported when the files were read.
  const problems = origins === undefined ? read.flatMap((each) => each.problems) : [];
  return { hooks: read.flatMap(({ hooks }) => hooks), notices: problems.map(({ message }) => message) };
}

/**
 * Returns the origins of an entry in settings files. A list entry is also found by its value, because the program may
 * have changed the list. An entry that is not in a list has one origin for each of its parts.
 */
function originsOf(
  { entry, path }: { readonly entry: unknown; readonly path: string },
  origins: readonly SettingsOrigin[] = [],
): readonly SettingsOrigin[] {
  const isPart = (at: string): boolean => at === path || at.startsWith(`${path}.`) || at.startsWith(`${path}[`);
  return origins.filter((each) => isPart(each.path) || (isRecord(entry) && each.value === entry));
}

function functionHooks(functions: SessionHookOptions = {}): readonly Hook[] {
  return hookEvents.flatMap((event) =>
    (functions[event] ?? []).map(
      (given): FunctionHook => ({
        ...given,
        kind: "function",
        event,
        source: "user",
        run: given.run as HookFunction<never>,
      }),
    ),
  );
}

/** Returns a definition's hooks. Hooks in a project's file are treated as the project's, all others as the user's. */
export function definitionHooks(
  { hooks = [], source }: Partial<AgentDefinition> = {},
  { disableAllHooks }: Settings,
): readonly Hook[] {
  if (disableAllHooks) return [];
  return hooks.map((hook) => ({ kind: "command", source: source === "project" ? "project" : "user", ...hook }));
}
