import { isDeepStrictEqual } from "node:util";
import { formatBytes } from "../lib/index.ts";
import type { ImageBlock, ResultBlock, TextBlock } from "../protocol/index.ts";
import { isMapping } from "./check-server-config.ts";

export interface ResultContent {
  readonly content: readonly ResultBlock[];
  readonly isError: boolean;
}

/** What a server answered to a call, in blocks for the model. Takes anything: a part that makes no sense is named in a text. */
export function resultContent(result: unknown): ResultContent {
  const answer = isMapping(result) ? result : {};
  const parts = Array.isArray(answer["content"]) ? answer["content"] : [];
  const content = parts.map(blockOf);
  const structured = answer["structuredContent"];
  if (structured !== undefined && !content.some((block) => says(block, structured))) {
    content.push(text(JSON.stringify(structured, undefined, 2)));
  }
  if (content.length === 0) content.push(text("The tool gave no result."));
  return { content, isError: answer["isError"] === true };
}

/** Providers take 5 MB of base64. */
const MAX_IMAGE_CHARACTERS = 5_000_000;

const shownTypes: readonly string[] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

function blockOf(part: unknown): ResultBlock {
  if (!isMapping(part)) return text("[A part of the result that is no content block was left out.]");
  switch (part["type"]) {
    case "text":
      return text(stringOf(part["text"]));
    case "image":
      return imageOf(part, "An image");
    case "audio":
      return text(`[Sound (${sizeOf(part["data"])}, ${stringOf(part["mimeType"])}) was left out: it can't be shown.]`);
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
    return text(`[${named} was left out: only PNG, JPEG, GIF and WebP can be shown.]`);
  }
  if (data.length > MAX_IMAGE_CHARACTERS) return text(`[${named} was left out: it is too large to be shown.]`);
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
  if (!isMapping(resource)) return text("[A resource without content was left out.]");
  const uri = stringOf(resource["uri"]);
  if (typeof resource["text"] === "string") return text(`[Resource ${uri}]\n${resource["text"]}`);
  return imageOf({ data: resource["blob"], mimeType: resource["mimeType"] }, `The resource ${uri}`);
}

/** Servers are asked to repeat structured content as text; it need not be told twice. */
function says(block: ResultBlock, structured: unknown): boolean {
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
