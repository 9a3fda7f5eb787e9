import { testPattern } from "../../lib/index.ts";
import type { ResultStore, Tool, ToolContext, ToolOutput, ToolSpec } from "../../ports/index.ts";
import type { CallId, JsonObject } from "../../protocol/index.ts";
import { saveWhole } from "../bash/command-output.ts";
import { describeShell, noSuchShell, type Shell, type Shells } from "../bash/shells.ts";
import { exitCodeOf } from "../bash/start-command.ts";
import { descriptions } from "../descriptions.ts";
import { failed } from "../shared/failed.ts";

/** Also the longest time limit of a command in the foreground. */
const LONGEST_WAIT_MS = 600_000;

const bashOutputSpec: ToolSpec = {
  declaration: {
    name: "BashOutput",
    description: descriptions.bashOutput,
    inputSchema: {
      type: "object",
      properties: {
        bash_id: { type: "string", description: "Id that Bash returned." },
        timeout: {
          type: "integer",
          minimum: 0,
          maximum: LONGEST_WAIT_MS,
          description: "How long to wait for new output or the end, in milliseconds. Default: 2000.",
        },
        filter: {
          type: "string",
          description:
            "Regular expression. Lines that do not match it are discarded, and later calls do not return them.",
        },
      },
      required: ["bash_id"],
    },
  },
  traits: { parallel: true, effects: false },
};

export interface BashOutputDependencies {
  readonly shells: Shells;
  /** Stores the complete text of long output. */
  readonly results: ResultStore;
  /** Maximum time to wait for new output from a shell, for calls that do not set one. */
  readonly waitMs?: number;
}

export function createBashOutputTool({ shells, results, waitMs = 2_000 }: BashOutputDependencies): Tool {
  const timeoutOf = ({ timeout }: JsonObject): number => (typeof timeout === "number" ? timeout : waitMs);
  return {
    ...bashOutputSpec,
    timeoutMs: (input) => timeoutOf(input) + 10_000,
    async run(input, context) {
      const id = String(input["bash_id"]);
      const shell = shells.find(context.agentId, id);
      if (!shell) return failed(noSuchShell(id, shells.list(context.agentId)));
      const filter = typeof input["filter"] === "string" && input["filter"] !== "" ? input["filter"] : undefined;
      // The filter is checked first, so that an invalid one does not consume the output.
      const unusable = filter === undefined ? undefined : filterLines("", filter);
      if (unusable && !unusable.ok) return failed(unusable.message);
      await newsOrTimeout(shell, context, timeoutOf(input));
      return present(shell, { filter, results, callId: context.callId });
    },
  };
}

interface Presentation {
  readonly filter: string | undefined;
  readonly results: ResultStore;
  readonly callId: CallId;
}

async function present(shell: Shell, { filter, ...saving }: Presentation): Promise<ToolOutput> {
  const { text, whole } = shell.output.takeNew();
  const filtered = filter === undefined ? { ok: true as const, text } : filterLines(text, filter);
  const shown = filtered.ok ? filtered.text.trimEnd() : `${text.trimEnd()}\n[${filtered.message}]`;
  const sandbox = shell.end === undefined ? undefined : shell.explain(text, exitCodeOf(shell.end) !== 0);
  const remarks = [await saveWhole(whole, saving), sandbox ?? ""].filter((remark) => remark !== "");
  const parts = [describeShell(shell), shown || "(no new output)", ...remarks.map((remark) => `[${remark}]`)];
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

type Filtered = { readonly ok: true; readonly text: string } | { readonly ok: false; readonly message: string };

const maxLineLength = 2_000;

/** Keeps the lines that match. */
export function filterLines(text: string, expression: string): Filtered {
  const lines = text.split("\n").map((line) => line.slice(0, maxLineLength));
  const tested = testPattern(expression, { texts: lines });
  if (tested.ok) return { ok: true, text: lines.filter((_, index) => tested.matches[index]).join("\n") };
  if (tested.problem === "invalid")
    return { ok: false, message: `The filter is not a valid regular expression: ${tested.message}` };
  return { ok: false, message: "The filter took too long on this output and was not applied. Use a simpler one." };
}
