import { posix } from "node:path";
import fc from "fast-check";
import { accesses, decide, pathsOf } from "../../permissions/index.ts";
import {
  type Effect,
  type Policy,
  type PolicyLayer,
  permissionModes,
  type Rule,
  type RuleScope,
} from "../../protocol/index.ts";

export const root = "/work";
export const pool = ["Read", "Write", "Edit", "Bash", "WebFetch", "TodoWrite", "mcp__db__query"];
export const severity: Record<Effect, number> = { allow: 0, ask: 1, deny: 2 };

export const rule: fc.Arbitrary<Rule> = fc.record(
  {
    text: fc.constantFrom(
      ...pool,
      "mcp__db",
      "Bash(git:*)",
      "Bash(rm:*)",
      "Read(src/**)",
      "Edit(.env)",
      "Edit(//extra/**)",
      "WebFetch(domain:example.org)",
    ),
    effect: fc.constantFrom<Effect>("allow", "ask", "deny"),
    scope: fc.constantFrom<RuleScope>("builtin", "managed", "user", "project", "session"),
    file: fc.constantFrom("/work/.retinue/settings.json"),
    form: fc.constant("compact"),
  },
  { requiredKeys: ["text", "effect", "scope"] },
);
const rules = fc.uniqueArray(rule, {
  maxLength: 8,
  selector: ({ text, effect, scope, form }) => `${effect} ${scope} ${form} ${text}`,
});
const layer: fc.Arbitrary<PolicyLayer> = fc.record(
  { rules: fc.array(rule, { minLength: 1, maxLength: 4 }), settles: fc.constant(true) },
  { requiredKeys: ["rules"] },
);
export const policy: fc.Arbitrary<Policy> = fc.record(
  {
    mode: fc.constantFrom(...permissionModes),
    pool: fc.oneof(fc.constant(pool), fc.subarray(pool)),
    rules,
    layers: fc.array(layer, { minLength: 1, maxLength: 3 }),
    unattended: fc.constant(true),
    workspaceRoots: fc.subarray(["/extra", "/more"]).map((more) => [root, ...more]),
    readableRoots: fc.constant(["/docs"]),
  },
  { requiredKeys: ["mode", "pool", "rules", "workspaceRoots", "readableRoots"] },
);
export const call = fc.constantFrom(
  ...["a.ts", ".env", "src/a.ts", "/etc/passwd", "/extra/b.ts", "/more/c.ts"].flatMap((file_path) => [
    { name: "Read", input: { file_path } },
    { name: "Write", input: { file_path, content: "" } },
    { name: "Edit", input: { file_path, old_string: "a", new_string: "b" } },
  ]),
  ...["git status", "git push", "rm -rf src", "npm test"].map((command) => ({ name: "Bash", input: { command } })),
  ...["https://example.org/", "https://other.org/"].map((url) => ({ name: "WebFetch", input: { url } })),
  { name: "TodoWrite", input: { todos: [] } },
  { name: "mcp__db__query", input: {} },
);

export function effectOf({ name, input }: { name: string; input: object }, under: Policy): Effect {
  const touched = accesses(name, { ...input });
  const resolved = pathsOf(touched).map((requested) => {
    const absolute = posix.resolve(root, requested);
    return { requested, absolute, real: absolute, kind: "file" as const };
  });
  return decide({ toolName: name, accesses: touched, resolved, policy: under }).effect;
}
