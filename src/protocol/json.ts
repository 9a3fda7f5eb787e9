/** Any JSON value. */
export type JsonValue = null | boolean | number | string | readonly JsonValue[] | JsonObject;
/** A JSON object. */
export type JsonObject = { readonly [key: string]: JsonValue | undefined };

/** A JSON Schema. Built-in tools use only a subset of JSON Schema; MCP tools may use any schema. */
export type JsonSchema = JsonObject;
