import { plural } from "../../lib/index.ts";
import type {
  CallContext,
  FileStat,
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
import { locate } from "../shared/locate.ts";
import { splitLines } from "../shared/page-lines.ts";
import { replaceFile } from "../shared/replace-file.ts";
import { refuseUnseen, type SeenFiles } from "../shared/seen-files.ts";
import { decodeText, type Encoding, encodeText, toCrlf, usesCrlf } from "../shared/text-encoding.ts";

const writeSpec: ToolSpec = {
  declaration: {
    name: "Write",
    description: descriptions.write,
    inputSchema: {
      type: "object",
      properties: {
        file_path: { type: "string", description: "File to write." },
        content: { type: "string", description: "The complete text." },
      },
      required: ["file_path", "content"],
    },
  },
  traits: { parallel: false, effects: true },
};

export interface WriteDependencies {
  readonly workspace: Workspace;
  readonly seen: SeenFiles;
  /** Keeps the previous contents of files. */
  readonly results: ResultStore;
}

/** Size of a file above which encoding and line breaks are not detected and no diff is created. */
const MAX_COMPARED_BYTES = 10 * 1024 * 1024;

export function createWriteTool(dependencies: WriteDependencies): Tool {
  return {
    ...writeSpec,
    foresee: async (input, context) => {
      const found = await findTarget(input, context, dependencies);
      return "stat" in found ? undefined : found;
    },
    run: (input, context) => write(input, context, dependencies),
  };
}

async function write(input: JsonObject, context: ToolContext, dependencies: WriteDependencies): Promise<ToolOutput> {
  const { workspace, seen, results } = dependencies;
  const content = input["content"] as string;
  const file = await findTarget(input, context, dependencies);
  if (!("stat" in file)) return file;
  const { stat } = file;
  const before = stat.kind === "file" ? await contentOf(file.real, workspace) : fresh;
  const after = before.crlf && !content.includes("\r") ? toCrlf(content) : content;
  if (stat.kind === "file" && before.text === after)
    return { content: `${file.name} already has exactly this content.` };
  const bytes = encodeText(after, before.encoding) ?? Buffer.from(after);
  const written = await replaceFile({ real: file.real, bytes, expect: stat.version }, { workspace, results, context });
  if (!written.ok) return fileFailed(written);
  seen.of(context.agentId).whole(file.real, written.stat.version);
  const size = plural(splitLines(after).length, "line");
  return {
    content: stat.kind === "file" ? `Replaced ${file.name} (${size}).` : `Created ${file.name} (${size}).`,
    details: await describeChange({ name: file.name, before: before.text ?? "", after }),
    facts: { filesChanged: [file.name], image: written.image },
  };
}

interface Target {
  readonly real: string;
  readonly name: string;
  readonly stat: FileStat;
}

/** Returns the file to write, or an error if the agent must not replace it. */
async function findTarget(
  input: JsonObject,
  context: CallContext,
  { workspace, seen }: WriteDependencies,
): Promise<Target | ToolOutput> {
  const file = await locate(input["file_path"] as string, "write", { workspace, context });
  if (!file.ok) return file.output;
  const { real, name, kind } = file;
  if (kind === "directory") return failed(`${name} is a directory. Pass the path of a file.`);
  const known = seen.of(context.agentId);
  const stat = await workspace.stat(real);
  if (stat.kind === "file") {
    const refusal = refuseUnseen({ real, name, version: stat.version }, known);
    if (refusal) return refusal;
    if (!known.knowsWhole(real))
      return failed(`You have read only part of ${name}. Read the rest before you replace it, or use Edit.`);
  }
  return { real, name, stat };
}

interface Before {
  /** Previous content; undefined if it is not text, or too large to compare. */
  readonly text: string | undefined;
  readonly encoding: Encoding;
  readonly crlf: boolean;
}

const fresh: Before = { text: undefined, encoding: "utf-8", crlf: false };

async function contentOf(real: string, workspace: Workspace): Promise<Before> {
  const result = await workspace.read(real, { maxBytes: MAX_COMPARED_BYTES });
  const decoded = result.ok ? decodeText(result.bytes) : undefined;
  if (!decoded?.ok) return fresh;
  return { text: decoded.text, encoding: decoded.encoding, crlf: usesCrlf(decoded.text) };
}
