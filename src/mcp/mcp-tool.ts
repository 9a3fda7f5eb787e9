import type { Tool } from "../ports/index.ts";
import type { OfferedTool } from "./offered-tools.ts";
import { resultContent } from "./result-content.ts";
import { safeMembers } from "./safe-members.ts";
import type { Server } from "./server.ts";

/** A server's tool as one of ours. It stays what it was when the agent was connected. */
export function createMcpTool(offered: OfferedTool, { name, server }: { name: string; server: Server }): Tool {
  const { schema, restore } = safeMembers(offered.inputSchema);
  return {
    declaration: { name, description: offered.description, inputSchema: schema },
    traits: { parallel: offered.readOnly, effects: !offered.readOnly },
    timeoutMs: () => server.limitMs(),
    async run(input, { signal, progress }) {
      const answer = await server.call({ tool: offered.name, input: restore(input), signal, progress });
      if (!answer.ok) return { content: answer.message, isError: true };
      const { content, isError } = resultContent(answer.result);
      const all = answer.note === undefined ? content : [{ type: "text" as const, text: answer.note }, ...content];
      return isError ? { content: all, isError } : { content: all };
    },
  };
}
