import { describe, expect, it } from "vitest";
import { callTool } from "../shared/tool-place.test-support.ts";
import { createTodoWriteTool } from "./todo-write.ts";

const items = [
  { content: "Read", status: "completed" },
  { content: "Build", status: "in_progress", activeForm: "Building" },
  { content: "Test", status: "pending" },
];

describe("TodoWrite", () => {
  it("returns one line, with the list in the details", async () => {
    const output = await callTool(createTodoWriteTool(), { todos: items });
    expect(output).toEqual({ content: "1 completed, 1 in progress, 1 pending.", details: { todos: items } });
    expect(await callTool(createTodoWriteTool(), { todos: [] })).toMatchObject({ content: "The list is empty." });
  });

  it("rejects several items in progress, and empty items", async () => {
    const tool = createTodoWriteTool();
    const two = [...items, { content: "Ship", status: "in_progress" }];
    expect(await callTool(tool, { todos: two })).toMatchObject({ isError: true });
    expect(await callTool(tool, { todos: [{ content: " ", status: "pending" }] })).toMatchObject({
      isError: true,
      content: "Item 1 has no content. Describe the step.",
    });
  });
});
