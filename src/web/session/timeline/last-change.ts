import type { Spans } from "../../../client/index.ts";
import { type AgentId, type CallId, canonicalToolName } from "../../../protocol/index.ts";

const editors: ReadonlySet<string> = new Set(["Edit", "Write", "NotebookEdit"]);

/** Finds the last successful call that has changed a file. The path may be relative to the workspace. */
export function lastChange(
  { lanes }: Spans,
  path: string,
): { readonly agentId: AgentId; readonly callId: CallId } | undefined {
  let last: { readonly agentId: AgentId; readonly callId: CallId; readonly start: number } | undefined;
  for (const [agentId, { spans }] of lanes)
    for (const { name, target = "", callId, start, kind, result } of spans) {
      const isChange = kind === "tool" && result === undefined && editors.has(canonicalToolName(name));
      if (!isChange || callId === undefined || start < (last?.start ?? 0)) continue;
      if (target === path || target.endsWith(`/${path}`) || path.endsWith(`/${target}`))
        last = { agentId, callId, start };
    }
  return last;
}
