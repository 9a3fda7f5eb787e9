import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { JsonSchema } from "../../protocol/index.ts";
import type { Server } from "../server.ts";
import { createMcpTool, resultContent } from "./mcp-tool.ts";

it("a tool accepts properties that its schema does not list, unless the schema forbids them", () => {
  const accepted = (inputSchema: JsonSchema) =>
    createMcpTool(
      { name: "t", description: "", inputSchema, readOnly: true },
      { name: "mcp__s__t", server: {} as Server },
    ).accepts;
  expect(accepted({ type: "object" })).toEqual({ type: "object", additionalProperties: true });
  expect(accepted({ type: "object", additionalProperties: false })).toMatchObject({ additionalProperties: false });
});

const textsOf = (result: unknown) =>
  resultContent(result).content.map((block) => (block.type === "text" ? block.text : block));

describe("resultContent", () => {
  it("converts text, images, links and resources", () => {
    const content = [
      { type: "text", text: "hello" },
      { type: "image", mimeType: "image/png", data: "AAAA" },
      { type: "image", mimeType: "image/svg+xml", data: "AAAA" },
      { type: "audio", mimeType: "audio/wav", data: "AAAA" },
      { type: "resource_link", uri: "file:///a", name: "a", mimeType: "text/plain", description: "The first." },
      { type: "resource", resource: { uri: "file:///b", text: "inside" } },
      { type: "resource", resource: { uri: "file:///c", mimeType: "image/jpeg", blob: "BBBB" } },
      { type: "resource", resource: { uri: "file:///d", mimeType: "application/zip", blob: "BBBB" } },
      { type: "novelty", value: 1 },
    ];
    expect(textsOf({ content })).toEqual([
      "hello",
      { type: "image", mediaType: "image/png", data: "AAAA" },
      "[An image (3 B, image/svg+xml) was omitted: only PNG, JPEG, GIF and WebP can be shown.]",
      "[Audio (3 B, audio/wav) was omitted: it can't be shown.]",
      "[Resource a: file:///a (text/plain)]\nThe first.",
      "[Resource file:///b]\ninside",
      { type: "image", mediaType: "image/jpeg", data: "BBBB" },
      expect.stringContaining("The resource file:///d (3 B, application/zip) was omitted"),
      '{"type":"novelty","value":1}',
    ]);
  });

  it("shows structured content once", () => {
    const structuredContent = { rows: [1, 2] };
    expect(textsOf({ structuredContent })).toEqual([JSON.stringify(structuredContent, undefined, 2)]);
    expect(textsOf({ structuredContent, content: [{ type: "text", text: '{"rows": [1,2]}' }] })).toHaveLength(1);
    expect(textsOf({ structuredContent, content: [{ type: "text", text: "two rows" }] })).toHaveLength(2);
  });

  it("omits images that no provider accepts", () => {
    const data = "A".repeat(5_000_001);
    expect(textsOf({ content: [{ type: "image", mimeType: "image/png", data }] })).toEqual([
      expect.stringContaining("too large to show"),
    ]);
  });

  it("accepts any value", () => {
    expect(resultContent(undefined)).toEqual({
      content: [{ type: "text", text: "The tool returned no result." }],
      isError: false,
    });
    fc.assert(
      fc.property(fc.jsonValue(), fc.array(fc.jsonValue()), (result, content) => {
        expect(resultContent(result).content.length).toBeGreaterThan(0);
        expect(resultContent({ content }).content.length).toBeGreaterThan(0);
      }),
    );
  });
});
