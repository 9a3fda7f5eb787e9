import { describe, expect, it } from "vitest";
import { callTool, toolContext } from "../shared/tool-place.test-support.ts";
import { createTodos, createTodoWriteTool } from "./todo-write.ts";

const items = [
  { content: "Read", status: "completed" },
  { content: "Build", status: "in_progress", activeForm: "Building" },
  { content: "Test", status: "pending" },
];

describe("TodoWrite", () => {
  it("keeps a list per agent and answers in a line", async () => {
    const todos = createTodos();
    const tool = createTodoWriteTool({ todos });
    const output = await callTool(tool, { todos: items });
    expect(output).toEqual({ content: "1 completed, 1 in progress, 1 pending.", details: { todos: items } });
    expect(todos.of("main")).toEqual(items);
    expect(todos.of("other")).toEqual([]);
    await callTool(tool, { todos: [] }, toolContext({ agentId: "other" }));
    expect(todos.of("main")).toEqual(items);
    await tool.release?.("main");
    expect(todos.of("main")).toEqual([]);
  });

  it("refuses two items in progress, and empty ones, and keeps the old list", async () => {
    const todos = createTodos();
    const tool = createTodoWriteTool({ todos });
    await callTool(tool, { todos: items });
    const two = [...items, { content: "Ship", status: "in_progress" }];
    expect(await callTool(tool, { todos: two })).toMatchObject({ isError: true });
    expect(await callTool(tool, { todos: [{ content: " ", status: "pending" }] })).toMatchObject({
      isError: true,
      content: "Item 1 has no content. Say what is to be done.",
    });
    expect(todos.of("main")).toEqual(items);
  });
});
