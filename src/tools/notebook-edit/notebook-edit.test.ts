import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { JsonObject } from "../../protocol/index.ts";
import { createReadTool } from "../read/read.ts";
import { callTool, createToolPlace, type ToolPlace, textOfOutput } from "../shared/tool-place.test-support.ts";
import { createNotebookEditTool } from "./notebook-edit.ts";

const cells = [
  { cell_type: "markdown", id: "intro", metadata: {}, source: ["# Title"] },
  {
    cell_type: "code",
    execution_count: 3,
    id: "sum",
    metadata: {},
    outputs: [{ output_type: "stream", text: "3" }],
    source: ["1 + 2"],
  },
];
const text = `${JSON.stringify({ cells, metadata: {}, nbformat: 4, nbformat_minor: 5 }, null, 1)}\n`;

let place: ToolPlace;
beforeEach(async () => {
  place = createToolPlace();
  place.put("n.ipynb", text);
  await callTool(createReadTool(place), { file_path: "n.ipynb" });
});
afterEach(() => place.remove());

const edit = (input: JsonObject) =>
  callTool(createNotebookEditTool({ ...place, cellId: () => "fresh" }), { notebook_path: "n.ipynb", ...input });
const now = () => JSON.parse(place.get("n.ipynb")).cells;

describe("NotebookEdit", () => {
  it("replaces the source and clears the outputs", async () => {
    const output = await edit({ cell_id: "sum", new_source: "x = 1\nx" });
    expect(output).toMatchObject({ content: "Replaced cell sum in n.ipynb.", facts: { filesChanged: ["n.ipynb"] } });
    expect(now()).toEqual([cells[0], { ...cells[1], execution_count: null, outputs: [], source: ["x = 1\n", "x"] }]);
    expect(place.get("n.ipynb").endsWith("}\n")).toBe(true);
  });

  it("changes the type of a cell", async () => {
    await edit({ cell_id: "sum", new_source: "text", cell_type: "markdown" });
    expect(now()[1]).toEqual({ cell_type: "markdown", id: "sum", metadata: {}, source: ["text"] });
  });

  it("inserts cells at the start or after a cell, and deletes cells", async () => {
    await edit({ edit_mode: "insert", new_source: "first", cell_type: "markdown" });
    await edit({ edit_mode: "insert", cell_id: "sum", new_source: "last" });
    expect(now().map((cell: { id: string }) => cell.id)).toEqual(["fresh", "intro", "sum", "fresh0"]);
    await edit({ edit_mode: "delete", cell_id: "fresh" });
    await edit({ edit_mode: "delete", cell_id: "2" });
    expect(place.get("n.ipynb")).toBe(text);
  });

  it("refuses a notebook that would take too long to parse", async () => {
    place.put("n.ipynb", JSON.stringify({ cells, metadata: { long: "x".repeat(11 * 1024 * 1024) } }));
    const output = await edit({ cell_id: "sum", new_source: "x" });
    expect(textOfOutput(output)).toBe(
      "n.ipynb is larger than 10 MB, which is NotebookEdit's limit. Clear the outputs of its cells first.",
    );
  });

  it("refuses invalid calls with advice", async () => {
    const message = async (input: JsonObject) => textOfOutput(await edit(input));
    expect(await message({ cell_id: "nope", new_source: "" })).toBe(
      'n.ipynb: there is no cell "nope". The notebook has 2 cells: intro, sum.',
    );
    expect(await message({ new_source: "x" })).toContain("cell_id is required");
    expect(await message({ cell_id: "sum" })).toContain("new_source is required");
    expect(await message({ notebook_path: "m.ipynb", cell_id: "0" })).toContain("does not exist");
    place.put("a.txt", "x");
    expect(await message({ notebook_path: "a.txt", cell_id: "0" })).toContain("Use Edit");
    place.put("bad.ipynb", "{}");
    expect(await message({ notebook_path: "bad.ipynb", cell_id: "0" })).toContain("not read bad.ipynb yet");
    await callTool(createReadTool(place), { file_path: "bad.ipynb" });
    expect(await message({ notebook_path: "bad.ipynb", cell_id: "0", new_source: "" })).toContain(
      "not a valid notebook",
    );
    place.put("n.ipynb", `${text} `);
    expect(await message({ cell_id: "sum", new_source: "x" })).toContain("changed since you read it");
  });
});
