export type JsonValue = null | boolean | number | string | readonly JsonValue[] | JsonObject;
export type JsonObject = { readonly [key: string]: JsonValue | undefined };

/** The part of JSON Schema our own tools are written in; foreign tools may carry any schema. */
export type JsonSchema = JsonObject;
