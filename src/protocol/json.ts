export type JsonValue = null | boolean | number | string | readonly JsonValue[] | JsonObject;
export type JsonObject = { readonly [key: string]: JsonValue | undefined };

/** Built-in tools use a subset of JSON Schema; MCP tools may use any schema. */
export type JsonSchema = JsonObject;
