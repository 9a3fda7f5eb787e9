import type { Tool, ToolContext, ToolOutput } from "../../ports/index.ts";
import type { AgentId, JsonObject } from "../../protocol/index.ts";
import { failed } from "../shared/failed.ts";
import { todoWriteSpec } from "./spec.ts";

export interface Todo {
  readonly content: string;
  readonly status: "pending" | "in_progress" | "completed";
  /** The same as something going on: "Running the tests". */
  readonly activeForm?: string | undefined;
}

/** The lists of all agents; the tool writes them, faces and reminders read them. */
export interface Todos {
  of(agentId: AgentId): readonly Todo[];
  set(agentId: AgentId, todos: readonly Todo[]): void;
  release(agentId: AgentId): void;
}

export function createTodos(): Todos {
  const lists = new Map<AgentId, readonly Todo[]>();
  return {
    of: (agentId) => lists.get(agentId) ?? [],
    set: (agentId, todos) => void lists.set(agentId, todos),
    release: (agentId) => void lists.delete(agentId),
  };
}

export function createTodoWriteTool({ todos }: { readonly todos: Todos }): Tool {
  return {
    ...todoWriteSpec,
    run: async (input, context) => replaceTodos(input, context, todos),
    release: async (agentId) => todos.release(agentId),
  };
}

function replaceTodos(input: JsonObject, context: ToolContext, todos: Todos): ToolOutput {
  const given = input["todos"] as unknown as readonly Todo[];
  const empty = given.findIndex((todo) => todo.content.trim() === "");
  if (empty >= 0) return failed(`Item ${empty + 1} has no content. Say what is to be done.`);
  const count = (status: Todo["status"]) => given.filter((todo) => todo.status === status).length;
  const active = count("in_progress");
  if (active > 1)
    return failed(`${active} items are in_progress. Leave one and set the others to pending or completed.`);
  const list = given.map(({ content, status, activeForm }) => ({ content, status, activeForm }));
  todos.set(context.agentId, list);
  const summary = `${count("completed")} completed, ${active} in progress, ${count("pending")} pending.`;
  return { content: given.length === 0 ? "The list is empty." : summary, details: { todos: list } };
}
