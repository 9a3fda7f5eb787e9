import { readFile } from "node:fs/promises";
import { createApiServer } from "./create-api-server.ts";
import { asList, isObject, type JsonObject } from "./json-values.ts";
import type { ApiServer, ApiServerOptions } from "./types.ts";

/**
 * Starts a server with the script in a JSON file: `{ "steps": [...] }` or `{ "conversations": [...] }`, and any server
 * option that is plain data. `overrides` take precedence over the options in the file.
 */
export async function startFromFile(path: string, overrides: Partial<ApiServerOptions> = {}): Promise<ApiServer> {
  return createApiServer({ ...(await readScriptFile(path)), ...overrides });
}

/**
 * Reads a script file. Throws on an unknown key, because a misspelled one would make a test pass for the wrong reason.
 */
async function readScriptFile(path: string): Promise<ApiServerOptions> {
  const file = parse(await readFile(path, "utf8"), path);
  onlyKeys(file, `${path}`, [...optionKeys, "steps", "conversations"]);
  const { steps, conversations, ...options } = file;
  if ((steps === undefined) === (conversations === undefined)) {
    throw new Error(`${path} must have either "steps" or "conversations"`);
  }
  if (steps !== undefined) checkSteps(steps, `${path}: steps`);
  for (const [index, one] of list(conversations, `${path}: conversations`).entries()) {
    const where = `${path}: conversations[${index}]`;
    const conversation = object(one, where);
    onlyKeys(conversation, where, ["name", "match", "steps"]);
    checkMatcher(conversation["match"], `${where}.match`);
    checkSteps(conversation["steps"], `${where}.steps`);
  }
  for (const [index, one] of list(options["faults"], `${path}: faults`).entries()) {
    const where = `${path}: faults[${index}]`;
    onlyKeys(object(one, where), where, ["fault", "first", "at", "chance"]);
    checkFault(object(one, where)["fault"], `${where}.fault`);
  }
  // The shape was checked above, and the options have the names in ApiServerOptions.
  return { ...options, script: steps ?? { conversations } } as unknown as ApiServerOptions;
}

const optionKeys = [
  "seed",
  "cache",
  "faults",
  "record",
  "apiKey",
  "requireKey",
  "models",
  "validate",
  "thinks",
  "port",
];
const matcherKeys = [
  "systemContains",
  "firstUserContains",
  "lastUserContains",
  "toolResultContains",
  "afterTool",
  "turn",
  "model",
  "offersTool",
  "wire",
];
const replyKeys = ["content", "stopReason", "pacing", "usage", "headers", "fault"];
const partKeys = ["text", "thinking", "signature", "redactedThinking", "tool", "id", "input", "inputJson", "block"];
const faultKeys: Record<string, readonly string[]> = {
  status: ["status", "retryAfter", "errorType", "message", "body", "headers"],
  "spend-cap": ["status"],
  hang: ["afterBytes"],
  close: ["afterBytes"],
  reset: ["afterBytes"],
  slow: ["msPerByte"],
  split: ["bytes"],
  "error-event": ["afterEvents", "errorType", "message"],
  "truncated-tool-json": ["end"],
  "invalid-utf8": [],
  "duplicate-event": ["event"],
  "missing-end": [],
  "wrong-content-type": ["contentType"],
  html: [],
  huge: ["bytes", "oneEvent"],
  "unknown-tool": ["name"],
  "wrong-argument-types": [],
  "large-argument": ["bytes"],
  "same-tool-id-twice": [],
};

function checkSteps(value: unknown, where: string): void {
  if (!Array.isArray(value)) throw new Error(`${where} must be a list`);
  for (const [index, entry] of value.entries()) {
    const here = `${where}[${index}]`;
    const step = object(entry, here);
    if (!("reply" in step)) {
      checkReply(step, here);
      continue;
    }
    onlyKeys(step, here, ["name", "when", "reply", "times", "faults"]);
    checkMatcher(step["when"], `${here}.when`);
    checkReply(object(step["reply"], `${here}.reply`), `${here}.reply`);
    for (const fault of list(step["faults"], `${here}.faults`)) checkFault(fault, `${here}.faults`);
  }
}

function checkReply(reply: JsonObject, where: string): void {
  onlyKeys(reply, where, replyKeys);
  const content = reply["content"];
  if (typeof content !== "string" && !Array.isArray(content)) {
    throw new Error(`${where}.content must be a string or a list of parts`);
  }
  for (const [index, part] of asList(content).entries()) {
    if (typeof part === "string") continue;
    onlyKeys(object(part, `${where}.content[${index}]`), `${where}.content[${index}]`, partKeys);
  }
  if (isObject(reply["pacing"])) {
    onlyKeys(reply["pacing"], `${where}.pacing`, ["delayMs", "firstByteMs", "chunkMs", "chunkCharacters"]);
  }
  if (reply["fault"] !== undefined) checkFault(reply["fault"], `${where}.fault`);
}

function checkMatcher(matcher: unknown, where: string): void {
  if (matcher !== undefined) onlyKeys(object(matcher, where), where, matcherKeys);
}

function checkFault(value: unknown, where: string): void {
  const fault = object(value, where);
  const kind = String(fault["kind"]);
  const keys = faultKeys[kind];
  if (keys === undefined) {
    throw new Error(`${where}.kind is "${kind}"; the known kinds are ${Object.keys(faultKeys).join(", ")}`);
  }
  onlyKeys(fault, where, ["kind", ...keys]);
}

function onlyKeys(value: JsonObject, where: string, known: readonly string[]): void {
  const unknown = Object.keys(value).find((key) => !known.includes(key));
  if (unknown !== undefined)
    throw new Error(`${where} has an unknown key "${unknown}"; the known keys are ${known.join(", ")}`);
}

function object(value: unknown, where: string): JsonObject {
  if (!isObject(value)) throw new Error(`${where} must be an object`);
  return value;
}

function list(value: unknown, where: string): readonly unknown[] {
  if (value !== undefined && !Array.isArray(value)) throw new Error(`${where} must be a list`);
  return asList(value);
}

function parse(text: string, path: string): JsonObject {
  try {
    return object(JSON.parse(text), path);
  } catch (error) {
    throw new Error(`${path} is not a script: ${error instanceof Error ? error.message : String(error)}`);
  }
}
