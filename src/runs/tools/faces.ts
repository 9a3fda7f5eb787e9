import type { DelegationList } from "../../definitions/index.ts";
import type { ToolFace } from "../../ports/index.ts";
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
export function delegationFaces(offer: DelegationOffer): readonly ToolFace[] {
  return [taskFace(offer), ...(offer.background ? [taskOutputFace, taskStopFace, sendMessageFace] : [])];
}

function taskFace(offer: DelegationOffer): ToolFace {
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
          subagent_type: list.complete ? { type: "string", enum: names } : { type: "string" },
          model: { type: "string", description: "small, medium, large or a model's name" },
          resume: { type: "string", description: "id of an agent that ended, to go on with it" },
          ...(background ? { run_in_background: { type: "boolean" }, name: { type: "string" } } : {}),
          max_turns: { type: "integer", minimum: 1 },
          isolation: { enum: ["worktree"] },
          acceptance: { type: "string", description: "command that checks the work" },
          ...(forks ? forkProperties : {}),
        },
        required: ["description", "prompt"],
      },
    },
    traits: { parallel: true, effects: false },
  };
}

function describeTask({ list, background, parallel, forks }: DelegationOffer): string {
  const notes = [
    "- It sees nothing of this conversation: put into the prompt what to do, where, and what to report. The report comes to you, not to the user.",
    ...(forks ? [aboutForks] : []),
    ...(parallel ? ["- Independent pieces of work: several calls in one answer, they run side by side."] : []),
    ...(background ? ["- With run_in_background you go on at once and are told when it ends."] : []),
    "- A small model is enough for lookups. Do what takes one or two calls yourself.",
  ];
  return `Gives a piece of work to an agent with a context of its own.\n${notes.join("\n")}\nAgents:\n${list.text}`;
}

const aboutForks =
  "- Without subagent_type you start a fork: a worker with your tools that knows all of this conversation, which is cheap to read again. Its prompt is only what to do. Take it where explaining the situation would be long; several forks in one answer share everything up to their prompts.";

const taskOutputFace: ToolFace = {
  declaration: {
    name: "TaskOutput",
    description: "How far a background agent is, or how it ended; with block it waits for that.",
    inputSchema: {
      type: "object",
      properties: {
        task_id: { type: "string" },
        block: { type: "boolean" },
        timeout: { type: "integer", minimum: 0, maximum: 600_000, description: "milliseconds, 30000 unless told" },
      },
      required: ["task_id"],
    },
  },
  traits: { parallel: true, effects: false },
};

const taskStopFace: ToolFace = {
  declaration: {
    name: "TaskStop",
    description: "Ends an agent. What it did stays; it can be resumed.",
    inputSchema: {
      type: "object",
      properties: { task_id: { type: "string" } },
      required: ["task_id"],
    },
  },
  traits: { parallel: true, effects: false },
};

const sendMessageFace: ToolFace = {
  declaration: {
    name: "SendMessage",
    description: "Words for an agent, by id or name, read at its next step; one that ended goes on with them.",
    inputSchema: {
      type: "object",
      properties: { to: { type: "string" }, message: { type: "string", minLength: 1 } },
      required: ["to", "message"],
    },
  },
  traits: { parallel: true, effects: false },
};
