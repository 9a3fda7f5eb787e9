import type { McpBehaviour } from "./behaviour.ts";

const text = { type: "string" };

/** What `tools/list` answers. */
export function offerTools({ oddTools = false }: McpBehaviour, { changed }: { changed: boolean }): object[] {
  return [
    {
      name: changed ? "other" : "echo",
      description: "Says it again.",
      inputSchema: { type: "object", properties: { text }, required: ["text"] },
      annotations: { readOnlyHint: true },
    },
    { name: "count", description: "Counts its calls.", inputSchema: { type: "object" } },
    { name: "content", description: "Gives content.", inputSchema: { type: "object", properties: { result: {} } } },
    {
      name: "big",
      description: "Gives much text.",
      inputSchema: { type: "object", properties: { bytes: { type: "integer" } } },
    },
    {
      name: "environment",
      description: "Gives a variable.",
      inputSchema: { type: "object", properties: { name: text } },
    },
    { name: "fail", description: "Answers with an error of the protocol.", inputSchema: { type: "object" } },
    { name: "progress", description: "Tells how far it is, and never ends.", inputSchema: { type: "object" } },
    { name: "where", description: "Gives its directory.", inputSchema: { type: "object" } },
    ...(oddTools ? odd : []),
  ];
}

const odd = [
  { name: "no.schema/at all", title: "Only a title" },
  { name: "no_schema_at_all", description: "d".repeat(5_000), inputSchema: "none" },
  { name: "choice", inputSchema: { anyOf: [{ type: "object" }], properties: { any: true, list: { items: [{}] } } } },
  { name: "pattern", inputSchema: { type: "object", properties: { text: { type: "string", pattern: "(" } } } },
  { name: "members", inputSchema: { type: "object", properties: { $top: text, "": {} }, required: ["$top"] } },
  { description: "has no name" },
  { name: "n".repeat(100), inputSchema: { type: "object" } },
];
