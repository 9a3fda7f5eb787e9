import { openSessionOn } from "../../src/app/opening/open-session.ts";
import type { SessionOptions } from "../../src/app/opening/session-options.ts";
import type { WorkerPort } from "../../src/ports/index.ts";
import type { ScriptedStep } from "../../src/testing/index.ts";
import { createCast } from "../../src/testing/index.ts";
import type { LocalWorkerOptions } from "../../src/worker/index.ts";

export type CreateWorker = (options: LocalWorkerOptions) => WorkerPort;
export type WalkOptions = Pick<SessionOptions, "cwd" | "home" | "environment" | "trusted">;

/** The parts of a session that a model and a user see, as plain data. */
export interface Observed {
  readonly agents: readonly string[];
  readonly notices: readonly string[];
  readonly outcomes: readonly string[];
  /** Heads of all requests, including subagents' requests. */
  readonly heads: readonly { readonly system: string; readonly context: string }[];
  /** Text of the main agent's requests. */
  readonly requests: readonly string[];
}

const task = { name: "Task", input: { description: "work", prompt: "CHILD: find it", subagent_type: "finder" } };
const done = { text: "Done." };
const parts: Readonly<Record<string, readonly ScriptedStep[]>> = {
  FOUR: [
    { calls: [{ name: "Skill", input: { skill: "deploy" } }] },
    { calls: [task, { name: "Write", input: { file_path: "new.txt", content: "new\n" } }] },
    ...[done, { calls: [task] }, done, { calls: [task] }, done, done],
  ],
  CHILD: [done, done, done],
  ONE: [done],
};

/**
 * Opens a session and runs four prompts in it, or only one if the project is not trusted. Calls `between` between
 * prompts.
 */
export async function observeSession(
  create: CreateWorker,
  options: WalkOptions,
  between: (count: number) => unknown,
): Promise<Observed> {
  const cast = createCast(parts);
  const heads: Observed["heads"][number][] = [];
  const model: typeof cast = {
    ...cast,
    call: (request, emit) => {
      const { system, userContext: context } = request.prompt.head;
      heads.push({ system, context });
      return cast.call(request, emit);
    },
  };
  const permissionMode = options.trusted ? "bypassPermissions" : "default";
  const session = await openSessionOn({ ...options, model, permissionMode }, create);
  const [prompt, count] = options.trusted ? ["FOUR", 4] : ["ONE", 1];
  const outcomes: string[] = [];
  for (let index = 0; index < count; index += 1) {
    if (index > 0) await between(index);
    outcomes.push((await session.prompt(`${prompt}: do it.`).result).outcome);
  }
  await session.close();
  const { agents, notices } = session;
  const requests = cast
    .requests(prompt)
    .map((messages) => messages.map(({ content }) => JSON.stringify(content)).join());
  return { agents, notices, outcomes, heads, requests };
}
