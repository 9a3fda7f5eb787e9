import { setTimeout } from "node:timers/promises";
import { stateDirectory } from "../../app/index.ts";
import { type Client, ClientError, type ClientSession, type ViewUpdate } from "../../client/index.ts";
import { createId, describeError } from "../../lib/index.ts";
import {
  type Line,
  MAIN_AGENT,
  type Receipt,
  type SessionClosed,
  type SessionId,
  type SessionInfo,
} from "../../protocol/index.ts";
import type { ListedSession, OpenRequest, TerminalHost, TerminalProgram } from "../../terminal/index.ts";
import { sessionIn } from "../find-session.ts";
import { connectTo, isOpen } from "../host/server-host.ts";
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
      /** Permission mode until the conversation shows it. */
      let mode = info.permissionMode;
      return {
        facts: {
          sessionId: info.id,
          cwd: info.cwd,
          model: info.model ?? "",
          agentType: "main",
          get permissionMode() {
            return mode;
          },
          isOffline: false,
          isRemote: true,
          notices: [],
          agents: catalog?.agents.map(({ name }) => name) ?? [],
        },
        updates: async function* (signal) {
          for await (const update of updatesOf(session, { client, signal, report })) {
            if (update.agentId === MAIN_AGENT) mode = undefined;
            yield update;
          }
        },
        send: async (command) => {
          const receipt = await sent(session, command);
          const isChosen = command.type === "configure" && receipt.status === "done" && mode !== undefined;
          if (isChosen) mode = command.permissionMode ?? mode;
          return receipt;
        },
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

interface FollowOptions {
  readonly client: Client;
  readonly signal: AbortSignal;
  readonly report: (message: string) => void;
}

/**
 * Delay before the server's list of sessions is read, because the list is updated shortly after a session is closed.
 */
const PAUSE_MS = 1_000;

/** Yields a session's updates. The server closes a session that has nothing to do, and the next prompt opens it again. */
async function* updatesOf(
  session: ClientSession,
  { client, signal, report }: FollowOptions,
): AsyncGenerator<ViewUpdate> {
  const onState = connectionReporter(report);
  let after = 0;
  while (!signal.aborted) {
    let closed: SessionClosed | undefined;
    const onClosed = (event: SessionClosed): void => {
      closed = event;
    };
    for await (const update of session.events({ after, signal, onState, onClosed })) {
      after = update.seq ?? after;
      yield update;
    }
    if (closed?.reason === "deleted") {
      report("This session was deleted. /new starts another one.");
      return;
    }
    if (closed?.detail !== undefined) report(closed.detail);
    await setTimeout(PAUSE_MS, undefined, { signal }).catch(() => undefined);
    await untilOpen(session.id, client, signal);
  }
}

/** Waits until the server has a session open, or until the signal fires. */
async function untilOpen(id: SessionId, client: Client, signal: AbortSignal): Promise<void> {
  for await (const event of client.events({ signal })) {
    const changed = event.type === "session_changed" ? [event.session] : [];
    const sessions = event.type === "server_snapshot" ? event.sessions : changed;
    if (sessions.some((info) => info.id === id && isOpen(info))) return;
  }
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
    const isAway = error instanceof ClientError && (error.status === 0 || error.code === "stopping");
    const detail = error instanceof ClientError ? error.detail : describeError(error);
    return { commandId: id, status: "refused", message: isAway ? "The server can't be reached." : detail };
  }
}

function connectionReporter(
  report: (message: string) => void,
): NonNullable<Parameters<ClientSession["events"]>[0]>["onState"] {
  let isLost = false;
  return (state) => {
    if (state.state === "lost" && !isLost) report("The connection to the server was lost. Trying to connect again.");
    if (state.state === "connected" && isLost) report("The connection is back.");
    isLost = state.state === "lost";
  };
}
