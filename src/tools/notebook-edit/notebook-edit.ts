import type {
  CallContext,
  ResultStore,
  Tool,
  ToolContext,
  ToolOutput,
  ToolSpec,
  Workspace,
} from "../../ports/index.ts";
import type { JsonObject } from "../../protocol/index.ts";
import { descriptions } from "../descriptions.ts";
import { describeChange } from "../shared/describe-change.ts";
import { failed, fileFailed } from "../shared/failed.ts";
import { explainMissing, locate } from "../shared/locate.ts";
import { replaceFile } from "../shared/replace-file.ts";
import { refuseUnseen, type SeenFiles } from "../shared/seen-files.ts";
import { decodeText, encodeText } from "../shared/text-encoding.ts";
import { type CellEdit, editCells } from "./edit-cells.ts";

const notebookEditSpec: ToolSpec = {
  declaration: {
    name: "NotebookEdit",
    description: descriptions.notebookEdit,
    inputSchema: {
      type: "object",
      properties: {
        notebook_path: { type: "string", description: "Path of the .ipynb file." },
        cell_id: {
          type: "string",
          description:
            "Id of the cell, or its index starting at 0. Required to replace and delete. A new cell is inserted after it, or as the first cell if this is not set.",
        },
        new_source: { type: "string", description: "Required to replace and insert." },
        cell_type: {
          type: "string",
          enum: ["code", "markdown"],
          description: "Type of the cell. Default: code for a new cell, unchanged for an existing one.",
        },
        edit_mode: { type: "string", enum: ["replace", "insert", "delete"], description: "Default: replace." },
      },
      required: ["notebook_path"],
    },
  },
  traits: { parallel: false, effects: true },
};

export interface NotebookEditDependencies {
  readonly workspace: Workspace;
  readonly seen: SeenFiles;
  /** Keeps the previous contents of files. */
  readonly results: ResultStore;
  /** Creates ids for new cells. */
  readonly cellId?: () => string;
}

/** Maximum size of a notebook. Parsing and comparing a notebook of this size blocks everything else for about 0.3 s. */
const MAX_BYTES = 10 * 1024 * 1024;

export function createNotebookEditTool(dependencies: NotebookEditDependencies): Tool {
  return {
    ...notebookEditSpec,
    foresee: async (input, context) => {
      const found = await prepare(input, context, dependencies);
      return "bytes" in found ? undefined : found;
    },
    run: (input, context) => editNotebook(input, context, dependencies),
  };
}

async function editNotebook(
  input: JsonObject,
  context: ToolContext,
  dependencies: NotebookEditDependencies,
): Promise<ToolOutput> {
  const { workspace, seen, results } = dependencies;
  const found = await prepare(input, context, dependencies);
  if (!("bytes" in found)) return found;
  const { real, name, version, before, after, what, bytes } = found;
  const written = await replaceFile({ real, bytes, expect: version }, { workspace, results, context });
  if (!written.ok) return fileFailed(written);
  seen.of(context.agentId).edited(real, written.stat.version);
  return {
    content: `${what} in ${name}.`,
    details: await describeChange({ name, before, after }),
    facts: { filesChanged: [name], image: written.image },
  };
}

interface PreparedNotebook {
  readonly real: string;
  readonly name: string;
  /** Version of the file that the edit was applied to. */
  readonly version: string;
  readonly before: string;
  readonly after: string;
  /** What was changed, such as the number of the cell. */
  readonly what: string;
  readonly bytes: Uint8Array;
}

/** Applies an edit to the content of a notebook, without writing the file. Returns an error if that is not possible. */
async function prepare(
  input: JsonObject,
  context: CallContext,
  { workspace, seen, cellId = randomCellId }: NotebookEditDependencies,
): Promise<PreparedNotebook | ToolOutput> {
  const edit: CellEdit = {
    mode: (input["edit_mode"] as CellEdit["mode"] | undefined) ?? "replace",
    cell: input["cell_id"] as string | undefined,
    source: input["new_source"] as string | undefined,
    type: input["cell_type"] as CellEdit["type"],
  };
  const file = await locate(input["notebook_path"] as string, "write", { workspace, context });
  if (!file.ok) return file.output;
  if (file.kind === "missing") return explainMissing(file, { workspace, context });
  if (!file.real.endsWith(".ipynb")) return failed(`${file.name} is not a notebook (.ipynb). Use Edit.`);
  const result = await workspace.read(file.real, { maxBytes: MAX_BYTES });
  if (!result.ok && result.code === "too_large")
    return failed(
      `${file.name} is larger than 10 MB, which is NotebookEdit's limit. Clear the outputs of its cells first.`,
    );
  if (!result.ok) return fileFailed(result);
  const { version } = result.stat;
  const refusal = refuseUnseen({ ...file, version }, seen.of(context.agentId));
  if (refusal) return refusal;
  const decoded = decodeText(result.bytes);
  if (!decoded.ok) return failed(`${file.name} is ${decoded.what}, not a notebook.`);
  const edited = editCells(decoded.text, edit, cellId);
  if (!edited.ok) return failed(`${file.name}: ${edited.message}`);
  const bytes = encodeText(edited.text, decoded.encoding);
  if (!bytes) return failed(`${file.name} is not UTF-8. Convert it to UTF-8 first.`);
  const { text: after, what } = edited;
  return { real: file.real, name: file.name, version, before: decoded.text, after, what, bytes };
}

function randomCellId(): string {
  return Math.floor(Math.random() * 0x1_0000_0000)
    .toString(16)
    .padStart(8, "0");
}
