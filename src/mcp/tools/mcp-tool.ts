import { isDeepStrictEqual } from "node:util";
import { formatBytes, isRecord } from "../../lib/index.ts";
import type { Tool } from "../../ports/index.ts";
import type { ImageBlock, ResultBlock, TextBlock } from "../../protocol/index.ts";
import type { Server } from "../server.ts";
import { renameProperties } from "./input-schema.ts";
import type { OfferedTool } from "./offered-tools.ts";

/** Wraps a server's tool. The declaration does not change while the agent is connected. */
export function createMcpTool(offered: OfferedTool, { name, server }: { name: string; server: Server }): Tool {
  const { schema, restore } = renameProperties(offered.inputSchema);
  return {
    declaration: { name, description: offered.description, inputSchema: schema },
    // The server decides what happens to properties that its schema does not list.
    accepts: { additionalProperties: true, ...schema },
    traits: { parallel: offered.readOnly, effects: !offered.readOnly },
    timeoutMs: () => server.limitMs(),
    async run(input, { signal, progress }) {
      const answer = await server.call({ tool: offered.name, input: restore(input), signal, progress });
      if (!answer.ok) return { content: answer.message, isError: true };
      const { content, isError } = resultContent(answer.result);
      const all = answer.note === undefined ? content : [{ type: "text" as const, text: answer.note }, ...content];
      return isError ? { content: all, isError } : { content: all };
    },
  };
}

export interface ResultContent {
  readonly content: readonly ResultBlock[];
  readonly isError: boolean;
}

/**
 * Converts a server's response to blocks for the model. Accepts any value and describes invalid parts in a text block.
 */
export function resultContent(result: unknown): ResultContent {
  const answer = isRecord(result) ? result : {};
  const parts = Array.isArray(answer["content"]) ? answer["content"] : [];
  const content = parts.map(blockOf);
  const structured = answer["structuredContent"];
  if (structured !== undefined && !content.some((block) => repeats(block, structured))) {
    content.push(text(JSON.stringify(structured, undefined, 2)));
  }
  if (content.length === 0) content.push(text("The tool returned no result."));
  return { content, isError: answer["isError"] === true };
}

/** Maximum length of an image. Providers accept up to 5 MB of base64. */
const MAX_IMAGE_CHARACTERS = 5_000_000;

const shownTypes: readonly string[] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

function blockOf(part: unknown): ResultBlock {
  if (!isRecord(part)) return text("[A part of the result was omitted: it is not a content block.]");
  switch (part["type"]) {
    case "text":
      return text(stringOf(part["text"]));
    case "image":
      return imageOf(part, "An image");
    case "audio":
      return text(`[Audio (${sizeOf(part["data"])}, ${stringOf(part["mimeType"])}) was omitted: it can't be shown.]`);
    case "resource_link":
      return text(linkOf(part));
    case "resource":
      return resourceOf(part["resource"]);
    default:
      return text(JSON.stringify(part));
  }
}

function imageOf(part: Record<string, unknown>, what: string): ResultBlock {
  const { data } = part;
  const mediaType = stringOf(part["mimeType"]);
  const named = `${what} (${sizeOf(data)}, ${mediaType === "" ? "no type" : mediaType})`;
  if (typeof data !== "string" || !shownTypes.includes(mediaType)) {
    return text(`[${named} was omitted: only PNG, JPEG, GIF and WebP can be shown.]`);
  }
  if (data.length > MAX_IMAGE_CHARACTERS) return text(`[${named} was omitted: it is too large to show.]`);
  return { type: "image", mediaType: mediaType as ImageBlock["mediaType"], data };
}

function linkOf(part: Record<string, unknown>): string {
  const title = stringOf(part["title"]) || stringOf(part["name"]);
  const type = stringOf(part["mimeType"]);
  const description = stringOf(part["description"]);
  return [
    `[Resource${title === "" ? "" : ` ${title}`}: ${stringOf(part["uri"])}${type === "" ? "" : ` (${type})`}]`,
    ...(description === "" ? [] : [description]),
  ].join("\n");
}

function resourceOf(resource: unknown): ResultBlock {
  if (!isRecord(resource)) return text("[A resource without content was omitted.]");
  const uri = stringOf(resource["uri"]);
  if (typeof resource["text"] === "string") return text(`[Resource ${uri}]\n${resource["text"]}`);
  return imageOf({ data: resource["blob"], mimeType: resource["mimeType"] }, `The resource ${uri}`);
}

/** Returns true if a block repeats the structured content, as the specification asks servers to do. */
function repeats(block: ResultBlock, structured: unknown): boolean {
  if (block.type !== "text") return false;
  try {
    return isDeepStrictEqual(JSON.parse(block.text), structured);
  } catch {
    return false;
  }
}

function sizeOf(base64: unknown): string {
  return formatBytes(typeof base64 === "string" ? Math.floor((base64.length * 3) / 4) : 0);
}

function stringOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function text(value: string): TextBlock {
  return { type: "text", text: value };
}
