import { checkSchema, type Schema } from "../lib/index.ts";
import type { ToolSpec, ToolTraits } from "../ports/index.ts";
import type { ToolResult } from "../protocol/index.ts";
import type { Recalled } from "./call-ledger.ts";
import { plainText } from "./connection.ts";

/**
 * Returns what is wrong with a worker's answer; undefined if the answer can be used. A worker may be broken, have another
 * version or be controlled by someone else, so the server must not assume that its answers have the right form.
 */
export function answerProblem(method: string, answer: unknown): string | undefined {
  const schema = Object.hasOwn(answers, method) ? answers[method] : undefined;
  const [problem] = schema === undefined ? [] : checkSchema(schema, answer ?? null);
  if (problem === undefined) return undefined;
  const place = problem.path === "" ? "it" : problem.path;
  return `The worker's answer to ${method} is invalid: ${plainText(place)} ${plainText(problem.message)}.`;
}

/** Returns a result with only those facts that a worker's tools can know. The others are about agents and costs. */
export function ownFacts(result: ToolResult): ToolResult {
  if (result.facts === undefined) return result;
  const { filesChanged, mayHaveChanged, image, trespasses, command } = result.facts;
  return { ...result, facts: { filesChanged, mayHaveChanged, image, trespasses, command } };
}

/** Does the same for the outcome of an earlier call. */
export function recalledFacts(recalled: Recalled): Recalled {
  return typeof recalled === "string" ? recalled : ownFacts(recalled);
}

/** Returns only those traits that a worker's tools can have: their calls use no models and can't be performed again. */
export function ownTraits({ traits: { parallel, effects } }: ToolSpec): ToolTraits {
  return { parallel, effects };
}

const text = { type: "string" };
const texts = { type: "array", items: text };
const flag = { type: "boolean" };
const number = { type: "number" };
const object = (properties: Readonly<Record<string, Schema>>, required = Object.keys(properties)): Schema => ({
  type: "object",
  properties,
  required,
});
const list = (items: Schema): Schema => ({ type: "array", items });
const either = (...anyOf: readonly Schema[]): Schema => ({ anyOf });
const one = (value: string | boolean): Schema => ({ const: value });
const refusal = object({ ok: one(false), message: text });

const orNothing = { type: ["string", "null"] };
const image = object({ path: text, before: orNothing, after: orNothing }, ["path", "after"]);
const mediaTypes = ["image/png", "image/jpeg", "image/gif", "image/webp"];
const result = object(
  {
    outcome: { enum: ["ok", "error", "denied", "cancelled", "timeout", "unknown"] },
    content: list(
      either(
        object({ type: one("text"), text }),
        object({ type: one("image"), mediaType: { enum: mediaTypes }, data: text }),
      ),
    ),
    details: object({}),
    facts: object(
      {
        filesChanged: texts,
        mayHaveChanged: texts,
        image,
        trespasses: list(image),
        command: object({ command: text, exitCode: { type: ["integer", "null"] }, readsOnly: one(true) }, [
          "command",
          "exitCode",
        ]),
      },
      [],
    ),
  },
  ["outcome", "content"],
);
const decision = object({ effect: { enum: ["allow", "ask", "deny"] }, rule: text, scope: text, reason: text });
const inputPath = object({ property: text, requested: text, absolute: text, real: text });
const tools = list(
  object({
    declaration: object({ name: text, description: text, inputSchema: object({}) }),
    traits: object({ parallel: flag, effects: flag }),
  }),
);
const anything = object({});

/** Schemas of a worker's answers, by method. */
const answers: Readonly<Record<string, Schema>> = {
  "port/settings": object({
    settings: anything,
    origins: list(object({ path: text, scope: text })),
    files: texts,
    rules: list(object({ text, effect: { enum: ["allow", "ask", "deny"] }, scope: text })),
    compact: list(anything),
    notices: texts,
    problems: texts,
    untrusted: texts,
    approvals: list(anything),
    agents: anything,
    trusted: flag,
  }),
  "port/snapshot": either(
    object({ changed: one(false) }),
    object({
      changed: one(true),
      snapshot: object({
        agents: list(object({ definition: object({ name: text, description: text }), place: anything })),
        skills: list(object({ definition: object({ name: text, description: text }) })),
        contextFiles: list(object({ file: text })),
        unloaded: list(anything),
        diagnostics: list(object({ file: text, message: text })),
        root: text,
        off: texts,
        approvals: list(anything),
        plugins: object({ hooks: list(object({ command: text })), notices: texts, mcpServers: anything }),
        skillRoots: texts,
        additionalDirectories: texts,
        settingsText: text,
        hash: text,
      }),
    }),
  ),
  "port/openMemory": either(object({ ok: one(true), directory: text }), object({ ok: one(false), problem: text })),
  "session/open": object({ readableRoots: texts, platform: text, tools }),
  "executor/judge": either(
    object({ kind: one("invalid"), message: text }),
    object({ kind: one("decided"), decision, accesses: list(object({ kind: text })), paths: list(inputPath) }),
  ),
  execute: result,
  recall: either(result, one("never begun"), one("lost")),
  "session/runHook": either(
    object({ ended: one(true), code: number, stdout: text, stderr: text }),
    object({ ended: one(false), failure: text }),
  ),
  "session/connectServers": object({
    connectionId: text,
    servers: list(object({ name: text, status: { enum: ["connected", "failed"] } })),
    tools,
    instructions: list(object({ server: text, text })),
    problems: texts,
  }),
  "session/openWorktree": either(object({ ok: one(true), root: text, top: text, sandboxed: flag }), refusal),
  "session/leaveWorktree": either(object({ path: text, branch: text, changes: text }), { type: "null" }),
  "session/keepRule": text,
  "session/restoreFile": either(object({ ok: one(true) }), refusal),
  "environment/commands": text,
  "environment/git": either(object({ branch: text, changes: texts, changed: number }, []), { type: "null" }),
};
