import { type Session, VERSION } from "../../app/index.ts";
import type { AgentViews } from "../progress/agent-views.ts";
import type { Format } from "./format.ts";
import { createResultCollector, failureObject } from "./result-object.ts";
import { createSteps } from "./stream-steps.ts";
import { createTasks } from "./stream-tasks.ts";

interface StreamOptions {
  readonly partialMessages: boolean;
  /** Include the text of subagents, not only their tool calls. */
  readonly subagentText: boolean;
  readonly agents: AgentViews;
  readonly newId: () => string;
}

/** Prints every step as a line of JSON. The last line is the result or a failure. */
export function createStreamJsonFormat({ partialMessages, subagentText, agents, newId }: StreamOptions): Format {
  const collector = createResultCollector(agents);
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
    update: (update) => {
      collector.observe(update);
      return (update.type === "subagent.event" ? tasks(update) : steps(update)).map(line).join("");
    },
    result: (result, cache) => line(collector.resultObject(result, cache)),
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
    // A field of the compatible format, with our own version.
    claude_code_version: VERSION,
    capabilities: [],
    provider: model.provider,
  };
}
