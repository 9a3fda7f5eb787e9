import { stateDirectory } from "../../app/index.ts";
import type { ClientSession } from "../../client/index.ts";
import { createId, describeError } from "../../lib/index.ts";
import type { Line, Receipt, SessionInfo } from "../../protocol/index.ts";
import type { ListedSession, OpenRequest, TerminalHost, TerminalProgram } from "../../terminal/index.ts";
import { sessionIn } from "../find-session.ts";
import { connectTo } from "../host/server-host.ts";
import type { PrintOptions } from "../print/print-options.ts";
import { usageError } from "../read-options.ts";

/** Gives the terminal access to a server's sessions. They continue when the terminal is closed. */
export function createRemoteProgram(url: string, options: PrintOptions): Pick<TerminalProgram, "open" | "sessions"> {
  const { client, asked, mayApprove } = connectTo({ url, home: stateDirectory(process.env) });

  async function chosen(resume: string | undefined): Promise<SessionInfo> {
    const wanted = resume ?? options.resume;
    if (wanted === undefined && !options.continueLatest) {
      const { agent, model, permissionMode, maxTurns, maxCost, maxTokens } = options;
      return asked(client.sessions.create({ agent, model, permissionMode, maxTurns, maxCost, maxTokens }));
    }
    const sessions = await asked(client.sessions.list());
    const [latest] = sessions;
    if (wanted !== undefined) return sessionIn(sessions, wanted, ` --server ${url}`);
    if (latest !== undefined) return latest;
    throw usageError(`The server ${url} has no session to continue`, "Leave out --continue to start one.");
  }

  return {
    open: async ({ resume, report }: OpenRequest): Promise<TerminalHost> => {
      const info = await chosen(resume);
      const catalog = await client.agents(info.worker).catch(() => undefined);
      const session = client.sessions.open(info.id);
      return {
        facts: {
          sessionId: info.id,
          cwd: info.cwd,
          model: info.model ?? "",
          agentType: "main",
          isOffline: false,
          isRemote: true,
          notices: [],
          agents: catalog?.agents.map(({ name }) => name) ?? [],
        },
        updates: (signal) => session.events({ signal, onState: connectionReporter(report) }),
        send: (command) => sent(session, command),
        question: async (requestId) => {
          const waiting = await client.approvals.list().catch(() => []);
          return waiting.find(({ question }) => question.requestId === requestId)?.question;
        },
        howToAnswer: mayApprove ? undefined : howToAnswer,
        prompts: () => asked(session.prompts()),
        context: () => asked(session.context()),
        commands: () => [],
        files: async () => [],
        lines: async (agentId) => {
          const lines: Line[] = [];
          for await (const line of session.lines(agentId)) lines.push(line);
          return lines;
        },
        close: async () => undefined,
      };
    },
    sessions: async () => {
      const sessions = await asked(client.sessions.list());
      return sessions.map(({ id, title = "", updatedAt, state }): ListedSession => ({ id, title, updatedAt, state }));
    },
  };
}

/**
 * Says how to answer a request from a session on the user's own server, whose token in `server.json` can't approve
 * calls.
 */
function howToAnswer(requestId: string): string {
  return `This terminal can't answer: it uses the token in server.json, which can't approve calls. Answer with the link that \`retinue serve\` printed, or in another terminal: retinue approvals answer ${requestId} allow. To answer here, set RETINUE_TOKEN to the token in the link and start again.`;
}

/** Sends a command. Answers have their own route, which needs the `approve` scope. */
async function sent(session: ClientSession, command: Parameters<ClientSession["send"]>[0]): Promise<Receipt> {
  const id = command.id ?? createId("command_");
  try {
    if (command.type === "answer") return await session.answer(command.requestId, command.answer);
    return await session.send({ ...command, id });
  } catch (error) {
    return { commandId: id, status: "refused", message: describeError(error) };
  }
}

function connectionReporter(
  report: (message: string) => void,
): NonNullable<Parameters<ClientSession["events"]>[0]>["onState"] {
  let isLost = false;
  return (state) => {
    if (state.state === "lost" && !isLost) report(`${state.error.detail} Trying to connect again.`);
    if (state.state === "connected" && isLost) report("The connection is back.");
    isLost = state.state === "lost";
  };
}
