import { matchAgentId, misspelledName, UserError } from "../../lib/index.ts";
import {
  type AgentId,
  type Effort,
  efforts,
  isSameAgent,
  type Line,
  MAIN_AGENT,
  type Receipt,
  type RunEnd,
  type RunResult,
} from "../../protocol/index.ts";
import { type Dispatcher, type StopReceipt, type Subagent, stopWithReceipt } from "../../runs/index.ts";
import type { Transcript } from "../../transcript/index.ts";
import {
  aBoolean,
  aCount,
  anAbortSignal,
  anObject,
  aString,
  checkNames,
  checkOptions,
  type OptionTypes,
  oneOf,
  optional,
  optionError,
} from "../check-options.ts";
import type { NewCommand } from "../commands/steer.ts";
import { promptOptionHints } from "../opening/session-option-hints.ts";
import { isSchema, type Schema } from "../schemas/schema.ts";
import { createStructuredOutput } from "../schemas/structured-output.ts";
import type { OutputValue, PromptOptions, PromptResult } from "./prompt-run.ts";

/** A subagent of a session. */
export interface SubagentInfo {
  readonly agentId: AgentId;
  readonly agentType: string;
  /** Name that the agent's parent gave it. */
  readonly name?: string | undefined;
  /** The task in a few words. */
  readonly description?: string | undefined;
  readonly parent: AgentId;
  readonly state: "running" | "ended";
  /** Whether the newest run works, or worked, in the background. */
  readonly background: boolean;
  /** End of the newest run. Absent while it is in progress. */
  readonly end?: RunEnd | undefined;
}

/** Options for `session.subagents.start`. */
export interface SubagentOptions<Output extends Schema | undefined = undefined>
  extends Pick<PromptOptions<Output>, "output" | "outputSchema"> {
  /** The task in a few words, for people. Defaults to the beginning of the prompt. */
  readonly description?: string | undefined;
  /** Whether the agent works like a background agent: it can use fewer tools, and settings can deny its requests. */
  readonly background?: boolean | undefined;
  /** The agent's model; defaults to its definition's, or to the main agent's. */
  readonly model?: string | undefined;
  readonly maxTurns?: number | undefined;
  /** How much the agent thinks; defaults to the value in its definition or the settings, or to the model's default. */
  readonly effort?: Effort | undefined;
  /** Stops the agent, which then has the outcome `stopped`. */
  readonly signal?: AbortSignal | undefined;
}

/** A subagent that the program has started. */
export interface StartedSubagent<Output = undefined> {
  readonly agentId: AgentId;
  readonly agentType: string;
  /** Result of the agent's run. Never rejects. */
  readonly result: Promise<PromptResult<Output>>;
  /** Stops the agent's run. The work done so far is kept. */
  stop(): void;
}

/**
 * Starts, lists and steers a session's subagents. A reference is an agent's name, its id, or the start or end of its
 * id.
 */
export interface Subagents {
  /**
   * Starts an agent as a subagent of the main agent, within the session's budget and permissions. The main agent is not notified. Resolves when the agent has started; rejects with a `UserError` if it can't be started.
   *
   * ```ts
   * const review = await session.subagents.start("reviewer", "Review src/cart.js", { output: findings });
   * const { outcome, output } = await review.result;
   * ```
   */
  start<const Output extends Schema | undefined = undefined>(
    agentType: string,
    prompt: string,
    options?: SubagentOptions<Output>,
  ): Promise<StartedSubagent<OutputValue<Output>>>;
  /** Returns all subagents in the order they were started. */
  list(): Promise<readonly SubagentInfo[]>;
  /** Returns the lines of an agent's transcript so far. Throws a `UserError` if no agent or several match. */
  read(reference: string): Promise<readonly Line[]>;
  /**
   * Waits until an agent is no longer running, and returns the end of its newest run. Throws a `UserError` if no agent or
   * several match.
   */
  wait(reference: string): Promise<RunEnd>;
  /**
   * Sends a message to an agent. A running agent reads the message before its next step; an agent that has ended is
   * resumed with it.
   */
  message(reference: string, text: string): Promise<Receipt>;
  /** Continues an agent whose last run ended early. It works in the background. */
  resume(reference: string): Promise<Receipt>;
  /** Moves an agent to the background, so that its caller stops waiting for it. */
  background(reference: string): Promise<Receipt>;
  /** Makes a background agent's parent wait for it, without restarting anything. */
  foreground(reference: string): Promise<Receipt>;
  /**
   * Stops an agent; `main` is the same as `session.interrupt()`. The background agents that it started continue. Returns
   * undefined if there is no such agent; throws a `UserError` if several match.
   */
  stop(reference: string): Promise<StopReceipt | undefined>;
}

export interface SubagentsParts {
  readonly dispatcher: Dispatcher;
  /** Resolves when the transcript has its first line. Throws a `UserError` if the session is closed. */
  readonly begin: () => Promise<void>;
  readonly transcript: Transcript;
  readonly send: (command: NewCommand) => Promise<Receipt>;
  readonly interrupt: () => Promise<StopReceipt>;
}

export function createSubagents({ dispatcher, begin, transcript, send, interrupt }: SubagentsParts): Subagents {
  const { registry } = dispatcher;
  async function find(reference: unknown): Promise<Subagent | undefined> {
    if (typeof reference !== "string" || reference === "")
      throw optionError("An agent must be given by its name or its id", "session.subagents.list() returns all agents.");
    const found = await registry.find(reference);
    const ids = found === undefined ? (await registry.all()).map(({ agentId }) => agentId) : [];
    const match = matchAgentId(ids, reference);
    if (match.kind !== "many") return found;
    throw optionError(`"${reference}" matches several agents: ${match.ids.join(", ")}`, "Use a longer part of the id.");
  }

  async function findOne(reference: string): Promise<Subagent> {
    const found = await find(reference);
    if (found !== undefined) return found;
    throw optionError(
      `There is no agent "${reference}" in this session`,
      "session.subagents.list() returns all agents.",
    );
  }

  async function start<const Output extends Schema | undefined>(
    agentType: string,
    prompt: string,
    options: SubagentOptions<Output> = {},
  ): Promise<StartedSubagent<OutputValue<Output>>> {
    checkStart({ agentType, prompt, options }, dispatcher.offered());
    const { background = false, model, maxTurns, effort, signal = new AbortController().signal } = options;
    const output = options.output && createStructuredOutput(options.output, options.outputSchema);
    const description = options.description ?? prompt.trim().slice(0, 60);
    await begin();
    const request = { agentType, prompt, description, background, model, maxTurns, effort, output };
    const started = await dispatcher.startWithoutCall("program", request, signal);
    if ("status" in started) throw new UserError(started.message, { code: "agent" });
    const { agentId, running } = started;
    const stop = (): void => running?.run.stop("stopped_by_person");
    signal.addEventListener("abort", stop, { once: true });
    if (signal.aborted) stop();
    const result = (async () => {
      await running?.done;
      signal.removeEventListener("abort", stop);
      const end = (await running?.run.result) as RunResult;
      return end.reason === "done" ? { ...end, output: output?.value as OutputValue<Output> } : end;
    })();
    return { agentId, agentType: started.agentType, result, stop };
  }

  return {
    start,
    list: async () => (await registry.all()).map(infoOf),
    read: async (reference) => transcript.read((await findOne(reference)).agentId),
    wait: async (reference) => {
      const { agentId } = await findOne(reference);
      await dispatcher.resumptionOf(agentId);
      const result = await registry.resultOf(agentId, new AbortController().signal);
      if (result === undefined) throw new Error(`agent ${agentId} has no run`);
      return result.end;
    },
    message: (to, text) => send({ type: "prompt", to, content: [{ type: "text", text }], when: "now" }),
    resume: (agent) => send({ type: "resume", agent }),
    background: (agent) => send({ type: "background", agent }),
    foreground: (agent) => send({ type: "foreground", agent }),
    stop: async (reference) => {
      if (reference === MAIN_AGENT) return interrupt();
      const found = await find(reference);
      return found && stopWithReceipt(registry.working(), () => registry.stop(found.agentId, "stopped_by_person"));
    },
  };
}

interface StartArguments {
  readonly agentType: unknown;
  readonly prompt: unknown;
  readonly options: SubagentOptions<Schema | undefined>;
}

function checkStart({ agentType, prompt, options }: StartArguments, offered: readonly string[]): void {
  const name = "session.subagents.start";
  checkNames(name, options, promptOptionHints);
  checkOptions(name, options, startOptionTypes);
  if (typeof prompt !== "string" || prompt.trim() === "")
    throw optionError(`${name} needs a prompt`, "Pass the agent's task as the second argument.");
  if (typeof agentType === "string" && offered.some((known) => isSameAgent(known, agentType))) return;
  if (offered.length === 0)
    throw optionError(
      `${name} can't start agents, because there are none that the rules allow`,
      "Check the rules for Task in the settings, and define agents with the agents option of openSession.",
    );
  const meant = typeof agentType === "string" ? misspelledName(agentType, offered) : undefined;
  const fix = meant === undefined ? `Use one of ${offered.join(", ")}.` : `Did you mean "${meant}"?`;
  throw optionError(`There is no agent ${JSON.stringify(agentType)} that ${name} can start`, fix);
}

const startOptionTypes: OptionTypes<SubagentOptions<Schema>> = {
  description: optional(aString),
  background: optional(aBoolean),
  model: optional(aString),
  maxTurns: optional(aCount),
  effort: optional(oneOf(efforts)),
  signal: optional(anAbortSignal),
  output: optional({ accepts: isSchema, description: "a schema from a library, or a JSON Schema" }),
  outputSchema: optional(anObject),
};

function infoOf({ agentId, agentType, name, description, parent, inBackground, running, end }: Subagent): SubagentInfo {
  return {
    agentId,
    agentType,
    name,
    description,
    parent: parent.agentId,
    state: running === undefined ? "ended" : "running",
    background: running?.background ?? inBackground === true,
    end: running === undefined ? end : undefined,
  };
}
