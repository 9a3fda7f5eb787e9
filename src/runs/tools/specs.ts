import type { DelegationList } from "../../definitions/index.ts";
import type { ToolSpec } from "../../ports/index.ts";
import { FORK_TYPE } from "../../protocol/index.ts";
import { forkProperties } from "./task-input.ts";

export interface DelegationOffer {
  readonly list: DelegationList;
  /** Agents may work in the background. */
  readonly background: boolean;
  /** Several may be launched at once. */
  readonly parallel: boolean;
  /** Agents may start forks of themselves. */
  readonly forks?: boolean;
}

/** The tools of delegation, in the order they are declared. The same offer gives the same bytes. */
export function delegationSpecs(offer: DelegationOffer): readonly ToolSpec[] {
  return [taskSpec(offer), ...(offer.background ? [taskOutputSpec, taskStopSpec, sendMessageSpec] : [])];
}

function taskSpec(offer: DelegationOffer): ToolSpec {
  const { list, background, forks } = offer;
  const names = [...list.agents.map(({ name }) => name), ...(forks ? [FORK_TYPE] : [])];
  return {
    declaration: {
      name: "Task",
      description: describeTask(offer),
      inputSchema: {
        type: "object",
        properties: {
          description: { type: "string", description: "3 to 5 words" },
          prompt: { type: "string" },
          subagent_type: list.complete ? { enum: names } : { type: "string" },
          model: { type: "string", description: "small, medium, large or a model" },
          resume: { type: "string", description: "id of an ended agent" },
          ...(background ? { run_in_background: { type: "boolean" }, name: { type: "string" } } : {}),
          max_turns: { type: "integer", minimum: 1 },
          isolation: { enum: ["worktree"] },
          acceptance: { type: "string", description: "command that checks it" },
          ...(forks ? forkProperties : {}),
        },
        required: ["description", "prompt"],
      },
    },
    traits: { parallel: true, effects: false, resumable: true },
  };
}

function describeTask({ list, background, parallel, forks }: DelegationOffer): string {
  const notes = [
    ...(forks ? [aboutForks] : []),
    ...(parallel ? ["- Several calls in one answer run side by side."] : []),
    ...(background ? ["- run_in_background: you go on and are told when it ends."] : []),
    "- Use a small model for lookups. Do what takes one or two calls yourself.",
  ];
  return `Gives work to an agent that knows nothing of this conversation: its prompt says what to do, where, and what to report to you.\n${notes.join("\n")}\nAgents:\n${list.text}`;
}

const aboutForks =
  "- Without subagent_type: a fork with your tools that knows this conversation; its prompt says only what to do. Only forks take context_turns (the newest), allowed_tools, read_only.";

const taskOutputSpec: ToolSpec = {
  declaration: {
    name: "TaskOutput",
    description: "How far a background agent is, or how it ended; `block` waits for its end.",
    inputSchema: {
      type: "object",
      properties: {
        task_id: { type: "string" },
        block: { type: "boolean" },
        timeout: { type: "integer", minimum: 0, maximum: 600_000 },
      },
      required: ["task_id"],
    },
  },
  traits: { parallel: true, effects: false },
};

const taskStopSpec: ToolSpec = {
  declaration: {
    name: "TaskStop",
    description: "Ends an agent. It can be resumed.",
    inputSchema: {
      type: "object",
      properties: { task_id: { type: "string" } },
      required: ["task_id"],
    },
  },
  traits: { parallel: true, effects: false },
};

const sendMessageSpec: ToolSpec = {
  declaration: {
    name: "SendMessage",
    description: "Tells an agent (id or name) something; one that ended goes on with it.",
    inputSchema: {
      type: "object",
      properties: { to: { type: "string" }, message: { type: "string", minLength: 1 } },
      required: ["to", "message"],
    },
  },
  traits: { parallel: true, effects: false },
};

const traits = { parallel: false, effects: false };

/** To plan before anything is changed; for sessions in which somebody can approve a plan. */
export const planSpecs: readonly ToolSpec[] = [
  {
    declaration: {
      name: "EnterPlanMode",
      description:
        "For work that is large, unclear or hard to undo: from here on you only look, until the user approves a plan.",
      inputSchema: { type: "object", properties: {} },
    },
    traits,
  },
  {
    declaration: {
      name: "ExitPlanMode",
      description: "Shows the user your plan. Once it is approved plan mode ends and you carry it out.",
      inputSchema: {
        type: "object",
        properties: {
          plan: { type: "string", minLength: 1, description: "what is changed, where, how it is checked" },
        },
        required: ["plan"],
      },
    },
    traits,
  },
];
