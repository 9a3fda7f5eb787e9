import { existsSync } from "node:fs";
import { join } from "node:path";
import type { FunctionHook, Hook, HookFunction, OpenHooks } from "../../hooks/index.ts";
import type { Hooks } from "../../ports/index.ts";
import {
  type AgentDefinition,
  type AgentId,
  type HookEvent,
  type HookSource,
  hookEvents,
  MAIN_AGENT,
  readHookEntries,
  type SessionId,
  type Settings,
  type SettingsOrigin,
} from "../../protocol/index.ts";
import type { Environment } from "../places.ts";

/** Functions of a program that opens a session, by event. */
export type SessionHookOptions = {
  readonly [Event in HookEvent]?: readonly FunctionHookOptions<Event>[];
};

export interface FunctionHookOptions<Event extends HookEvent> {
  /** Which tools, agent types or whatever the event is about; absent: all. */
  readonly matcher?: string;
  readonly timeoutSeconds?: number;
  readonly run: HookFunction<Event>;
}

export interface HooksPlace {
  readonly settings: Settings;
  /** Where the settings come from; absent: they are the program's own. */
  readonly origins?: readonly SettingsOrigin[] | undefined;
  /** Where plugins are kept; absent: those of the user don't count here. */
  readonly pluginHome?: string | undefined;
  readonly functions?: SessionHookOptions | undefined;
  /** Of the session's own agent. */
  readonly definition?: AgentDefinition | undefined;
  /** The workspace. */
  readonly root: string;
  readonly environment: Environment;
  readonly transcript: { readonly sessionId: SessionId; readonly path: string | undefined };
}

/** The hooks of a session. Where there are none, nothing is loaded. */
export interface SessionHooks {
  /** Of the session's own agent. */
  readonly main?: Hooks | undefined;
  /** Of its subagents. */
  readonly shared?: Hooks | undefined;
  /** Of a subagent whose definition has some; undefined: those all have. */
  forAgent(definition: AgentDefinition): Promise<Hooks | undefined>;
  readonly notices: readonly string[];
  close(): Promise<void>;
}

export async function loadSessionHooks(place: HooksPlace): Promise<SessionHooks> {
  const { hooks, notices } = await configuredHooks(place);
  const own = ownHooks(place, place.definition);
  let opened: Promise<OpenHooks> | undefined;
  const open = () => {
    opened ??= openHooks(place, { hooks, own });
    return opened;
  };
  const main = hooks.length + own.length === 0 ? undefined : await open();
  return {
    main,
    ...(main && hooks.length > 0 ? { shared: main.forAgent([]) } : {}),
    forAgent: async (definition) => {
      const theirs = ownHooks(place, definition);
      return theirs.length === 0 ? undefined : (await open()).forAgent(theirs);
    },
    notices,
    close: async () => (await opened)?.close(),
  };
}

interface Configured {
  readonly hooks: readonly Hook[];
  readonly notices: readonly string[];
}

/** The user's and the project's first, as settings have them; then those of plugins and of the program. */
async function configuredHooks({ settings, origins, pluginHome, functions = {} }: HooksPlace): Promise<Configured> {
  const fromSettings = settingsHooks(settings, origins);
  const readsPlugins = pluginHome !== undefined && !settings.disableAllHooks;
  const fromPlugins = readsPlugins ? await pluginHooks(pluginHome) : nothing;
  return {
    hooks: [...fromSettings.hooks, ...fromPlugins.hooks, ...functionHooks(functions)],
    notices: [...fromSettings.notices, ...fromPlugins.notices],
  };
}

const nothing: Configured = { hooks: [], notices: [] };

/** What is wrong with those of files was told, with file and line, when the files were read. */
function settingsHooks({ hooks: value = {}, disableAllHooks }: Settings, origins: HooksPlace["origins"]): Configured {
  const scopes = new Map(origins?.map((origin) => [origin.value, origin.scope]));
  // Who manages the machine decides about its own hooks; nobody else switches them off.
  const allAreOff = origins?.some(({ path, scope }) => path === "disableAllHooks" && scope === "managed");
  const read = Object.entries(value).flatMap(([event, entries]) =>
    (Array.isArray(entries) ? entries : [entries]).flatMap((entry) => {
      const scope = scopes.get(entry);
      if (disableAllHooks && (allAreOff || scope !== "managed")) return [];
      const source: HookSource = scope === "project" || scope === "local" ? "project" : "user";
      const { hooks, problems } = readHookEntries({ [event]: [entry] });
      return { hooks: hooks.map((hook): Hook => ({ kind: "command", source, ...hook })), problems };
    }),
  );
  const problems = origins === undefined ? read.flatMap((each) => each.problems) : [];
  return { hooks: read.flatMap(({ hooks }) => hooks), notices: problems.map(({ message }) => message) };
}

async function pluginHooks(home: string): Promise<Configured> {
  if (!existsSync(join(home, "plugins.json"))) return nothing;
  const { readPluginHooks } = await import("./plugin-hooks.ts");
  return readPluginHooks(home);
}

function functionHooks(functions: SessionHookOptions): readonly Hook[] {
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

/** Of a definition: a project's file is the project's word. */
function ownHooks({ settings }: HooksPlace, { hooks = [], source }: Partial<AgentDefinition> = {}): readonly Hook[] {
  if (settings.disableAllHooks) return [];
  return hooks.map((hook) => ({ kind: "command", source: source === "project" ? "project" : "user", ...hook }));
}

async function openHooks(
  { root, environment, transcript: { sessionId, path } }: HooksPlace,
  configured: { readonly hooks: readonly Hook[]; readonly own: readonly Hook[] },
): Promise<OpenHooks> {
  const [{ createHooks }, { createLocalWorkspace }] = await Promise.all([
    import("../../hooks/index.ts"),
    import("../../workspace/index.ts"),
  ]);
  const transcriptPath = (agentId: AgentId): string | undefined =>
    agentId === MAIN_AGENT ? path : path?.replace(/\.jsonl$/, `/subagents/agent-${agentId}.jsonl`);
  return createHooks({
    ...configured,
    workspace: createLocalWorkspace({ root, environment }),
    sessionId,
    transcriptPath,
  });
}
