import { accesses, decide, pathsOf } from "../src/permissions/index.ts";
import type { Policy, Rule } from "../src/protocol/index.ts";
import type { Figure } from "./figure.ts";

/** Measures how long decisions on shell commands take: everyday commands with many rules, and very long commands. */
export async function decisionCase(): Promise<Figure[]> {
  const policy = policyWith(1_000);
  const daily = everyday.flatMap((command) => [command, `cd src && ${command} 2>&1 | tail -20`]);
  for (const command of daily) decideOn(command, policy);
  const times = Array.from({ length: 4_000 }, (_, index) => {
    // The comment makes each command unique, so that no cache contains it.
    return timeOf(`${daily[index % daily.length]} # ${index}`, policy);
  });
  return [
    atMost("decision on a command, 1,000 rules, p99", percentile(times, 0.99), 5),
    atMost(
      "decision on one 1 MB command",
      longest(() => `echo ${"a".repeat(1_000_000)}`),
      100,
    ),
    atMost(
      "decision on a 1 MB list of commands",
      longest(() => `${"true && ".repeat(125_000)}touch x`),
      100,
    ),
    atMost(
      "decision on 5,000 commands",
      longest(() => `${'echo "$x" | wc -l; '.repeat(5_000)}touch x`),
      100,
    ),
    atMost(
      "decision on 30 nested substitutions",
      longest(() => nested(30)),
      100,
    ),
    atMost(
      "decision on 3,000 nested substitutions",
      longest(() => nested(3_000)),
      100,
    ),
  ];
}

const everyday = [
  "ls -la src",
  "git status",
  "git log --oneline -10",
  'grep -rn "needle" src',
  "find . -name '*.ts' | xargs wc -l",
  "npm test",
  "sed -n '1,20p' src/index.ts",
  'for f in *.ts; do head -1 "$f"; done',
  "git commit -m \"$(cat <<'E'\nfeat: a thing\nE\n)\"",
  "node scripts/build.mjs > build.log",
];

function policyWith(count: number): Policy {
  const rules = Array.from({ length: count }, (_, index): Rule => {
    const effect = (["allow", "ask", "deny"] as const)[index % 3]!;
    return { text: `Bash(tool-${index} run:*)`, effect, scope: "user" };
  });
  return { mode: "default", pool: ["Bash"], rules, workspaceRoots: ["/w"], readableRoots: [] };
}

function longest(make: () => string): number {
  const policy = policyWith(20);
  // The first call warms up the code. The added space makes the second command a different text that no cache contains.
  timeOf(make(), policy);
  return timeOf(`${make()} `, policy);
}

function timeOf(command: string, policy: Policy): number {
  const startedAt = performance.now();
  decideOn(command, policy);
  return performance.now() - startedAt;
}

function decideOn(command: string, policy: Policy): void {
  const list = accesses("Bash", { command });
  const resolved = pathsOf(list).map((path) => {
    const absolute = path.startsWith("/") ? path : `/w/${path}`;
    return { requested: path, absolute, real: absolute, kind: "file" as const };
  });
  decide({ toolName: "Bash", accesses: list, resolved, policy });
}

function nested(depth: number): string {
  return `${"echo $(".repeat(depth)}touch x${")".repeat(depth)}`;
}

function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((left, right) => left - right);
  return sorted[Math.floor(sorted.length * share)] ?? 0;
}

function atMost(name: string, milliseconds: number, limit: number): Figure {
  return { name, ours: Number(milliseconds.toFixed(2)), baseline: 0, unit: "ms", limit, kind: "value" };
}
