import { hiddenPredicate } from "../permissions/index.ts";
import { type AgentId, textOf } from "../protocol/index.ts";
import { authorizeAccess, type JudgedCall, judgeCall, type Place, type ToolUse } from "./judge-call.ts";

export interface ForeseenCall extends ToolUse {
  readonly judged: JudgedCall;
  readonly agentId: AgentId;
}

/**
 * Returns the error that the tool would return if a call can't succeed. Returns undefined if the call might succeed, or
 * if the agent is not allowed to read the files that the call would change, because the error could reveal their
 * content.
 */
export async function foreseeError(call: ForeseenCall, place: Place): Promise<string | undefined> {
  const { tool, input, policy, judged, agentId } = call;
  if (tool.foresee === undefined) return undefined;
  for (const { absolute } of judged.resolved) {
    const read = await judgeCall({ toolName: "Read", input: { file_path: absolute }, policy }, place);
    if (read.decision.effect !== "allow") return undefined;
  }
  const toolName = tool.declaration.name;
  const output = await tool.foresee(input, {
    agentId,
    paths: judged.resolved,
    authorize: (access) => authorizeAccess(access, { toolName, policy, judged, granted: false }, place),
    hidden: hiddenPredicate(policy, place.homes),
  });
  if (output === undefined) return undefined;
  return typeof output.content === "string" ? output.content : textOf(output.content);
}
