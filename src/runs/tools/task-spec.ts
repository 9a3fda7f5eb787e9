import type { DelegationList } from "../../definitions/index.ts";
import { isRecord, stripControls } from "../../lib/index.ts";
import type { ToolSpec } from "../../ports/index.ts";
import { FORK_TYPE, type JsonObject, type JsonSchema } from "../../protocol/index.ts";
import { formatMinutes } from "../host/clock-limits.ts";
import type { ForkBounds, SpawnRequest } from "../subagents/subagent.ts";

export interface DelegationOffer {
  readonly list: DelegationList;
  /** Whether agents may work in the background. */
  readonly background: boolean;
  /** Whether several agents may run at once. */
  readonly parallel: boolean;
  /** Whether agents may start forks of themselves. */
  readonly forks?: boolean;
  /** Whether a user is present, in which case forks work in the background. */
  readonly interactive?: boolean;
  /** Whether agents that are waited for can ask the user questions. */
  readonly questions?: boolean;
  /** Whether subagents can start agents. */
  readonly nested?: boolean;
  /** Limit on the active time of agents that are waited for. */
  readonly foregroundMs?: number | undefined;
}

export function taskSpec(offer: DelegationOffer): ToolSpec {
  const { list, background, forks } = offer;
  const names = [...list.agents.map(({ name }) => name), ...(forks ? [FORK_TYPE] : [])];
  return {
    declaration: {
      name: "Task",
      description: describeTask(offer),
      inputSchema: {
        type: "object",
        properties: {
          description: { type: "string", description: "The task in 3 to 5 words." },
          prompt: { type: "string", description: aboutPrompt },
          subagent_type: {
            type: "string",
            ...(list.complete && names.length > 0 ? { enum: names } : {}),
            description: forks ? "Agent to start." : "Agent to start. Required, except with resume.",
          },
          model: {
            type: "string",
            description:
              "small, medium, large or a model id. Default: the agent's own model, or else yours. Use small for simple searches.",
          },
          resume: {
            type: "string",
            description: `Id or name of an agent that has ended. It continues with its context, so the prompt says only what is new. It keeps its worktree. You wait for its new report${background ? ", unless you set run_in_background" : ""}.`,
          },
          ...(background ? backgroundProperties : {}),
          max_turns: {
            type: "integer",
            minimum: 1,
            description: "Maximum number of requests to the model. At the limit, the agent reports what it has.",
          },
          isolation: {
            type: "string",
            enum: ["worktree"],
            description:
              "Let the agent work in its own worktree of the git repository, so that agents can edit the same files in parallel. The worktree contains the last commit, without your uncommitted changes and without files that git ignores. If the agent needs your changes, do not use isolation; if it needs ignored files such as node_modules, tell it to link yours and not to commit the link. In the prompt, use relative paths, because absolute ones lead to your files, and tell the agent to commit. The result says how to apply its commits.",
          },
          acceptance: {
            type: "string",
            description:
              "Shell command that Retinue runs in the agent's directory when the agent reports, with the same approvals as other commands. If the command fails, the agent gets the output and one more attempt. The report says whether the command passed. Set it when a test can decide whether the work is done, and again when you resume the agent.",
          },
          output_schema: { type: "object", description: "JSON Schema of the report." },
          ...(forks ? forkProperties : {}),
        },
        required: ["description", "prompt"],
      },
      propertyNeeds: { name: "SendMessage" },
    },
    traits: { parallel: true, effects: false, resumable: true },
  };
}

const backgroundProperties = {
  run_in_background: { type: "boolean", description: "Do not wait for the report. Default: false." },
  name: { type: "string", description: "A name by which SendMessage, TaskOutput, TaskStop and resume find the agent." },
};

const aboutPrompt =
  "What to do: the goal, the paths and facts you know, whether the agent may change files, and what to report. Example: `npm test` fails in src/cart/total.test.ts:41 since commit 3f2a1c. Find the cause. Change no files. Report the cause as path:line, how you know, and the smallest fix.";

function describeTask(offer: DelegationOffer): string {
  const { list, background, parallel, forks, interactive } = offer;
  const forkNote = interactive && background ? `${aboutForks} ${forksInBackground}` : aboutForks;
  const notes = [
    "Use it to keep long searches and outputs out of your context, for independent tasks, and where an agent below fits. Do small tasks yourself, such as a fix in a file that you know or a search that takes a few calls, unless the output is very long.",
    `An agent${forks ? " other than a fork" : ""} sees the project's instruction files (except Explore), but not this conversation, so its prompt must say the rest. Settle open questions first: ${aboutQuestions(offer)} The agent's calls need the same approvals as yours, even in the background.`,
    ...timeNotes(offer),
    ...(parallel
      ? [
          "Several calls in one turn run in parallel; you continue when all of them have ended. Do not let two agents edit the same files, unless each has isolation, and do not edit files that a running agent is working on.",
        ]
      : []),
    ...(background
      ? [
          "With run_in_background, you keep working, and the report arrives in a notice; if you have already given your answer, you get another turn for it. Do not poll; if you need to wait after all, use TaskOutput with `block`. For shorter work, omit run_in_background if you would only wait for the report.",
        ]
      : []),
    ...(forks ? [forkNote] : []),
  ];
  const lines = notes.map((note) => `- ${note}`).join("\n");
  const agents = list.text === "" ? "" : `\nAgents:\n${list.text}`;
  return `Starts a subagent, which works on a task by itself and returns one report. The user does not see the report, so put what matters into your answer.\n${lines}${agents}`;
}

function aboutQuestions({ questions, nested }: DelegationOffer): string {
  const asks = questions ? "only agents that you wait for can ask the user" : "subagents can't ask the user";
  return nested ? `${asks}.` : `${asks}, and they can't start agents.`;
}

function timeNotes({ foregroundMs, background, interactive }: DelegationOffer): readonly string[] {
  if (foregroundMs === undefined) return [];
  const then = interactive && background ? "continues in the background" : "ends with what it has";
  const longer = background ? " Use run_in_background for longer work." : "";
  return [`An agent that you wait for has ${formatMinutes(foregroundMs)} of active time; then it ${then}.${longer}`];
}

const aboutForks =
  "To start a fork, set subagent_type to `fork`, or set neither subagent_type nor resume. A fork has your tools, model and directory and knows this conversation, so its prompt is only a directive. Use it when the task depends on much of what was said or read here; otherwise set another subagent_type, which costs fewer tokens. context_turns, allowed_tools and read_only are only for forks; forks accept neither isolation nor model.";

const forksInBackground = "A fork works in the background, and its report arrives in a notice.";

/** Reads the input of a Task call. If forks are enabled, a call without an agent type requests a fork. */
export function readRequest(input: JsonObject, mayFork: boolean): SpawnRequest {
  const { max_turns: maxTurns } = input;
  const named = (textIn(input, "subagent_type") ?? textIn(input, "agentType") ?? "").slice(0, LONGEST_NAME);
  const isFork = mayFork && (named === "" || named.toLowerCase() === FORK_TYPE);
  return {
    agentType: isFork ? FORK_TYPE : named,
    fork: isFork ? forkBoundsIn(input) : undefined,
    description: stripControls(String(input["description"])).slice(0, LONGEST_NAME),
    prompt: String(input["prompt"]),
    background: input["run_in_background"] === true,
    name: textIn(input, "name"),
    model: textIn(input, "model"),
    maxTurns: typeof maxTurns === "number" ? maxTurns : undefined,
    isolation: input["isolation"] === "worktree" ? "worktree" : undefined,
    acceptance: textIn(input, "acceptance"),
    outputSchema: isRecord(input["output_schema"]) ? (input["output_schema"] as JsonSchema) : undefined,
  };
}

const LONGEST_NAME = 200;

/** Input properties that are valid only for forks. */
const forkProperties: Readonly<Record<string, JsonSchema>> = {
  context_turns: {
    type: "integer",
    minimum: 1,
    description: "How many of your latest responses the fork knows, with their results. Default: all.",
  },
  allowed_tools: {
    type: "array",
    items: { type: "string" },
    description: "Tools that the fork can use. Default: all.",
  },
  read_only: {
    type: "boolean",
    description: "The fork can read, search and run commands that only read, but can't change anything.",
  },
};

/** Returns the name of an input property that is valid only for forks. Undefined if the input has no such property. */
export function forkPropertyIn(input: JsonObject): string | undefined {
  return Object.keys(forkProperties).find((name) => input[name] !== undefined && input[name] !== null);
}

function forkBoundsIn(input: JsonObject): ForkBounds {
  const { context_turns: turns, allowed_tools: tools, read_only: readOnly } = input;
  return {
    turns: typeof turns === "number" ? turns : undefined,
    allowedTools: Array.isArray(tools) ? tools.map(String) : undefined,
    readOnly: readOnly === true ? true : undefined,
  };
}

/**
 * Returns a string property of the input. Models express "none" in several ways: a missing property, null, or spaces.
 */
export function textIn(input: JsonObject, name: string): string | undefined {
  const value = input[name];
  const text = typeof value === "string" ? value.trim() : "";
  return text === "" ? undefined : text;
}

/**
 * Returns a schema that accepts more than the declared schema, because declaring everything would add bytes to every
 * request. It accepts any agent name (the catalog resolves aliases and reports unknown names better), null for optional
 * properties, and properties of compatible programs.
 */
export function acceptAnyName(inputSchema: JsonSchema): JsonSchema {
  const required = inputSchema["required"] as readonly string[];
  const text = { type: "string" };
  // Fork limits are accepted even if forks are disabled, so that the tool can refuse them instead of starting an agent
  // without limits.
  const more = { ...forkProperties, subagent_type: text, agentType: text, team_name: {}, mode: {} };
  // If background agents are disabled, `run_in_background: false` is still valid.
  const foreground = { run_in_background: { enum: [false] } };
  const all = Object.entries({ ...foreground, ...(inputSchema["properties"] as JsonObject), ...more });
  const properties = Object.fromEntries(
    all.map(([name, schema]) => [name, required.includes(name) ? schema : { anyOf: [schema, { type: "null" }] }]),
  );
  return { ...inputSchema, properties: { ...properties, prompt: { type: "string", minLength: 1 } } };
}
