import type { Tool, ToolContext, ToolOutput } from "../../ports/index.ts";
import { describeShell, exitCodeOf, noSuchShell } from "../bash/describe-shell.ts";
import type { Shell, Shells } from "../bash/shells.ts";
import { failed } from "../shared/failed.ts";
import { bashOutputFace } from "./face.ts";
import { filterLines } from "./filter-lines.ts";

export interface BashOutputDependencies {
  readonly shells: Shells;
  /** How long to wait for news from a silent shell. */
  readonly waitMs?: number;
}

export function createBashOutputTool({ shells, waitMs = 2_000 }: BashOutputDependencies): Tool {
  return {
    ...bashOutputFace,
    async run(input, context) {
      const id = String(input["bash_id"]);
      const shell = shells.find(context.agentId, id);
      if (!shell) return failed(noSuchShell(id, shells.list(context.agentId)));
      const filter = typeof input["filter"] === "string" && input["filter"] !== "" ? input["filter"] : undefined;
      // An unusable filter must not cost the output that it was to filter.
      const unusable = filter === undefined ? undefined : filterLines("", filter);
      if (unusable && !unusable.ok) return failed(unusable.message);
      await newsOrTimeout(shell, context, waitMs);
      return present(shell, filter);
    },
  };
}

function present(shell: Shell, filter: string | undefined): ToolOutput {
  const { text, note } = shell.output.takeNew();
  const filtered = filter === undefined ? { ok: true as const, text } : filterLines(text, filter);
  const shown = filtered.ok ? filtered.text.trimEnd() : `${text.trimEnd()}\n[${filtered.message}]`;
  const sandbox = shell.end === undefined ? undefined : shell.explain(text, exitCodeOf(shell.end) !== 0);
  const remarks = [note, sandbox ?? ""].filter((remark) => remark !== "");
  const parts = [describeShell(shell), shown || "(nothing new)", ...remarks.map((remark) => `[${remark}]`)];
  return {
    content: parts.filter((part) => part !== "").join("\n"),
    details: { shellId: shell.id, running: shell.end === undefined, exitCode: exitCodeOf(shell.end) },
  };
}

async function newsOrTimeout(shell: Shell, { signal }: ToolContext, waitMs: number): Promise<void> {
  await new Promise<void>((done) => {
    const timer = setTimeout(done, waitMs);
    const finish = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", finish);
      done();
    };
    signal.addEventListener("abort", finish, { once: true });
    if (signal.aborted) finish();
    void shell.news().then(finish);
  });
}
