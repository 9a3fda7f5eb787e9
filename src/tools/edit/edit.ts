import { formatCount, plural } from "../../lib/index.ts";
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
import { applyEdit, type Edit, type Edited, MAX_MATCHES, MAX_REPLACED } from "./apply-edit.ts";
import { explainMismatch, showPlace } from "./edit-report.ts";

const editSpec: ToolSpec = {
  declaration: {
    name: "Edit",
    description: descriptions.edit,
    inputSchema: {
      type: "object",
      properties: {
        file_path: { type: "string", description: "File to change." },
        old_string: { type: "string", description: "Text to replace." },
        new_string: { type: "string", description: "Text to put in its place." },
        replace_all: { type: "boolean", description: "Default false." },
      },
      required: ["file_path", "old_string", "new_string"],
    },
  },
  traits: { parallel: false, effects: true },
};

export interface EditDependencies {
  readonly workspace: Workspace;
  readonly seen: SeenFiles;
  /** Keeps the previous contents of files. */
  readonly results: ResultStore;
}

const MAX_BYTES = 10 * 1024 * 1024;

export function createEditTool(dependencies: EditDependencies): Tool {
  return {
    ...editSpec,
    foresee: async (input, context) => {
      const found = await prepare(input, context, dependencies);
      return "bytes" in found ? undefined : found;
    },
    run: (input, context) => edit(input, context, dependencies),
  };
}

async function edit(input: JsonObject, context: ToolContext, dependencies: EditDependencies): Promise<ToolOutput> {
  const { workspace, seen, results } = dependencies;
  const found = await prepare(input, context, dependencies);
  if (!("bytes" in found)) return found;
  const { real, name, version, before, edited, bytes } = found;
  const written = await replaceFile({ real, bytes, expect: version }, { workspace, results, context });
  if (!written.ok) return fileFailed(written);
  seen.of(context.agentId).edited(real, written.stat.version);
  return {
    content: report(name, edited),
    details: await describeChange({ name, before, after: edited.text }),
    facts: { filesChanged: [name], image: written.image },
  };
}

interface PreparedEdit {
  readonly real: string;
  readonly name: string;
  /** Version of the file that the edit was applied to. */
  readonly version: string;
  readonly before: string;
  readonly edited: Edited;
  readonly bytes: Uint8Array;
}

/** Applies an edit to the content of its file, without writing the file. Returns an error if that is not possible. */
async function prepare(
  input: JsonObject,
  context: CallContext,
  { workspace, seen }: EditDependencies,
): Promise<PreparedEdit | ToolOutput> {
  const request: Edit = {
    oldString: input["old_string"] as string,
    newString: input["new_string"] as string,
    replaceAll: input["replace_all"] === true,
  };
  if (request.oldString === "")
    return failed("old_string is empty. Pass the text to replace, or use Write to create a file.");
  if (request.oldString === request.newString)
    return failed("old_string and new_string are identical, so there is nothing to change.");
  const file = await locate(input["file_path"] as string, "write", { workspace, context });
  if (!file.ok) return file.output;
  if (file.kind === "directory") return failed(`${file.name} is a directory. Pass the path of a file.`);
  if (file.kind === "missing") return explainMissing(file, { workspace, context });

  const result = await workspace.read(file.real, { maxBytes: MAX_BYTES });
  if (!result.ok && result.code === "too_large")
    return failed(`${file.name} is larger than 10 MB. Change it with Bash (sed, perl or a script).`);
  if (!result.ok) return fileFailed(result);
  const { version } = result.stat;
  const refusal = refuseUnseen({ ...file, version }, seen.of(context.agentId));
  if (refusal) return refusal;
  const decoded = decodeText(result.bytes);
  if (!decoded.ok) return failed(`${file.name} is ${decoded.what}, not text.`);
  const edited = applyEdit(decoded.text, request);
  if (edited.kind === "missing") return failed(notFound(file.name, decoded.text, request.oldString));
  if (edited.kind === "too_many")
    return failed(
      `old_string occurs more than ${formatCount(MAX_REPLACED)} times in ${file.name}. Change it with Bash (sed, perl or a script).`,
    );
  if (edited.kind === "ambiguous") return failed(ambiguous(file.name, edited.lines));

  const bytes = encodeText(edited.text, decoded.encoding);
  if (!bytes)
    return failed(
      `${file.name} is not UTF-8, and its encoding may not support every character of new_string. Convert it to UTF-8 first.`,
    );
  return { real: file.real, name: file.name, version, before: decoded.text, edited, bytes };
}

function report(name: string, { text, places }: Edited): string {
  const [first] = places;
  const what =
    places.length === 1 ? `Edited ${name}:` : `Edited ${name} in ${plural(places.length, "place")}. The first:`;
  return first ? `${what}\n${showPlace(text, first)}` : what;
}

const MAX_LINES_TOLD = 20;

function ambiguous(name: string, lines: readonly number[]): string {
  const told = lines.slice(0, MAX_LINES_TOLD).join(", ");
  const more = lines.length > MAX_LINES_TOLD ? ` and ${lines.length - MAX_LINES_TOLD} more` : "";
  const times = lines.length === MAX_MATCHES ? `${MAX_MATCHES} times or more` : `${lines.length} times`;
  return `old_string occurs ${times} in ${name}, on lines ${told}${more}. Include surrounding lines to make it unique, or set replace_all.`;
}

function notFound(name: string, text: string, oldString: string): string {
  const notebook = name.endsWith(".ipynb") ? " This is a notebook: use NotebookEdit." : "";
  return `old_string was not found in ${name}. ${explainMismatch(text, oldString)}${notebook}`;
}
