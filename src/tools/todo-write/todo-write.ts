import type { Tool, ToolOutput, ToolSpec } from "../../ports/index.ts";
import type { JsonObject } from "../../protocol/index.ts";
import { descriptions } from "../descriptions.ts";
import { failed } from "../shared/failed.ts";

const todoWriteSpec: ToolSpec = {
  declaration: {
    name: "TodoWrite",
    description: descriptions.todoWrite,
    inputSchema: {
      type: "object",
      properties: {
        todos: {
          type: "array",
          description: "The whole list.",
          items: {
            type: "object",
            properties: {
              content: { type: "string", description: "The step." },
              status: { type: "string", enum: ["pending", "in_progress", "completed"], description: "Its state." },
            },
            required: ["content", "status"],
          },
        },
      },
      required: ["todos"],
    },
  },
  traits: { parallel: false, effects: false },
};

interface Todo {
  readonly content: string;
  readonly status: "pending" | "in_progress" | "completed";
  /** Description of the step while it is in progress, such as "Running the tests". */
  readonly activeForm?: string | undefined;
}

/** Checks and counts the to-dos. The list is kept in the transcript, in the details of the result. */
export function createTodoWriteTool(): Tool {
  return {
    ...todoWriteSpec,
    run: async (input) => replaceTodos(input),
  };
}

function replaceTodos(input: JsonObject): ToolOutput {
  const given = input["todos"] as unknown as readonly Todo[];
  const empty = given.findIndex((todo) => todo.content.trim() === "");
  if (empty >= 0) return failed(`Item ${empty + 1} has no content. Describe the step.`);
  const count = (status: Todo["status"]) => given.filter((todo) => todo.status === status).length;
  const active = count("in_progress");
  if (active > 1)
    return failed(`${active} items are in_progress. Keep one and set the others to pending or completed.`);
  const list = given.map(({ content, status, activeForm }) => ({ content, status, activeForm }));
  const summary = `${count("completed")} completed, ${active} in progress, ${count("pending")} pending.`;
  return { content: given.length === 0 ? "The list is empty." : summary, details: { todos: list } };
}
