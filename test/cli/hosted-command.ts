import { type ChildProcess, fork } from "node:child_process";
import { join, resolve } from "node:path";

/** Directory of the built program. */
export const dist = resolve(import.meta.dirname, "../../dist");

export interface HostedCommand {
  readonly words?: readonly string[] | undefined;
  /** JavaScript file to run instead of a command. */
  readonly program?: string | undefined;
  readonly cwd: string;
  readonly environment: NodeJS.ProcessEnv;
  /** Content of standard input; empty by default. */
  readonly input?: string | undefined;
}

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface StartedCommand {
  readonly ended: Promise<Ended>;
  /** Kills the process if the command is still running. */
  kill(): void;
}

const idleHosts: ChildProcess[] = [];

/** Starts a command or a program in a process that has run others before (command-host.mjs). */
export function startInHost(command: HostedCommand): StartedCommand {
  const host = idleHosts.pop() ?? startHost();
  let isDone = false;
  const ended = new Promise<Ended>((settle, reject) => {
    host.once("message", (result: Ended) => {
      isDone = true;
      host.removeAllListeners("exit");
      idleHosts.push(host);
      settle(result);
    });
    host.once("exit", () =>
      reject(new Error(`The process that ran ${command.program ?? command.words?.join(" ")} has ended.`)),
    );
  });
  host.send({ ...command, input: command.input ?? "" });
  return { ended, kill: () => void (isDone || host.kill("SIGKILL")) };
}

function startHost(): ChildProcess {
  const host = fork(join(import.meta.dirname, "command-host.mjs"), [dist], { execArgv: [] });
  host.unref();
  host.channel?.unref();
  return host;
}
