import { type Session, VERSION } from "../../app/index.ts";
import type { AgentViews } from "../progress/agent-views.ts";
import type { Format } from "./format.ts";
import { failureObject, resultObject } from "./result-object.ts";
import { createSteps } from "./stream-steps.ts";
import { createTasks } from "./stream-tasks.ts";
import { createWitness } from "./witness.ts";

export interface StreamOptions {
  readonly partialMessages: boolean;
  /** What subagents say too, not only what they do. */
  readonly subagentText: boolean;
  readonly agents: AgentViews;
  readonly newId: () => string;
}

/** Every step as a line of JSON; the result is the last one, always there and only once. */
export function createStreamJsonFormat({ partialMessages, subagentText, agents, newId }: StreamOptions): Format {
  const witness = createWitness();
  let sessionId: string | null = null;
  let transcriptPath: string | undefined;
  const steps = createSteps({ partialMessages, text: true, parent: () => null });
  const tasks = createTasks({ agents, partialMessages, text: subagentText, transcriptPath: () => transcriptPath });
  const line = (body: object): string => `${JSON.stringify({ ...body, session_id: sessionId, uuid: newId() })}\n`;
  return {
    opened: (session) => {
      sessionId = session.id;
      transcriptPath = session.transcriptPath;
      return line(initMessage(session));
    },
    update: (seen) => {
      witness.see(seen);
      return (seen.type === "subagent.event" ? tasks(seen) : steps(seen)).map(line).join("");
    },
    result: (result, cache) => line(resultObject(result, { witness, agents: agents.inOrder(), cache })),
    failure: (failure) => line(failureObject(failure, sessionId)),
  };
}

function initMessage({ cwd, tools, agents, mcpServers, model, permissionMode }: Session): object {
  return {
    type: "system",
    subtype: "init",
    cwd,
    tools,
    mcp_servers: mcpServers,
    model: model.model,
    permissionMode,
    slash_commands: [],
    agents,
    skills: [],
    plugins: [],
    apiKeySource: model.provider === "offline" ? "none" : "user",
    output_style: "default",
    // The field is part of the shape; the version in it is ours.
    claude_code_version: VERSION,
    capabilities: [],
    provider: model.provider,
  };
}
