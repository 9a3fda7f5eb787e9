import type { Tool, ToolSpec } from "../../ports/index.ts";
import { describeShell, noSuchShell, type Shells } from "../bash/shells.ts";
import { descriptions } from "../descriptions.ts";
import { failed } from "../shared/failed.ts";

const killShellSpec: ToolSpec = {
  declaration: {
    name: "KillShell",
    description: descriptions.killShell,
    inputSchema: {
      type: "object",
      properties: { shell_id: { type: "string", description: "Id that Bash returned." } },
      required: ["shell_id"],
    },
  },
  traits: { parallel: true, effects: true },
};

export interface KillShellDependencies {
  readonly shells: Shells;
}

export function createKillShellTool({ shells }: KillShellDependencies): Tool {
  return {
    ...killShellSpec,
    async run(input, context) {
      const id = String(input["shell_id"]);
      const shell = shells.find(context.agentId, id);
      if (!shell) return failed(noSuchShell(id, shells.list(context.agentId)));
      const wasRunning = shell.end === undefined;
      await shell.kill();
      const before = wasRunning ? "" : " It had already ended; any processes that it left running were stopped.";
      return { content: `${describeShell(shell)}${before}`, details: { shellId: id } };
    },
  };
}
