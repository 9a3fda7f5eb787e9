import { type PermissionMode, permissionModes } from "../../protocol/index.ts";
import { type Dispatcher, type LiveAgent, planEvents, type Thread } from "../../runs/index.ts";
import { oneOf, optionError } from "../check-options.ts";
import type { MainRuns } from "./main-runs.ts";

export interface ModeParts {
  readonly thread: Thread;
  readonly runs: MainRuns;
  readonly dispatcher: Dispatcher;
  /** Returns the main agent if it has a run in progress. */
  readonly live: () => LiveAgent | undefined;
  /** Throws a `UserError` if the settings forbid a mode. */
  readonly checkMode: (mode: PermissionMode) => void;
}

/** Changes the permission mode at once, even during a run. Throws a `UserError` if the mode can't be used. */
export async function changeMode(mode: PermissionMode, parts: ModeParts): Promise<void> {
  const { thread, runs, dispatcher, live, checkMode } = parts;
  const known = oneOf(permissionModes);
  if (!known.accepts(mode))
    throw optionError(`The permission mode can't be ${JSON.stringify(mode)}`, `Use ${known.description}.`);
  checkMode(mode);
  await live()?.begun;
  // The first line of a transcript describes the session, so a session without lines begins in the new mode.
  runs.requestedMode = mode;
  const { isPlanning } = dispatcher;
  const plan = mode === "plan" ? (isPlanning ? [] : planEvents("enter", runs.agent)) : [];
  const left = mode !== "plan" && isPlanning ? planEvents("leave", runs.agent) : [];
  const record = live()?.record ?? ((events) => thread.record(events));
  if (!thread.isEmpty) await record([...plan, ...left, { type: "mode.changed", mode }]);
  if (mode !== "plan") dispatcher.setMode(mode);
}
