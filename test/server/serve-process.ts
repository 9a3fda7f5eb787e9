import type { ChildProcessWithoutNullStreams } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { openTestStream, sendTo } from "../../src/server/server.test-support.ts";
import { type StartOptions, startRetinue } from "../cli/command-line.ts";

/** A server in a separate process. */
export interface ServeProcess {
  readonly child: ChildProcessWithoutNullStreams;
  readonly url: string;
  readonly token: string;
  readonly file: string;
  /** Returns the messages that the server has printed so far. */
  messages(): string;
  send(method: string, path: string, body?: unknown): ReturnType<typeof sendTo>;
  stream(path: string, headers?: Record<string, string>): ReturnType<typeof openTestStream>;
  /** Ends the process. Returns its exit code. */
  end(signal: NodeJS.Signals): Promise<number | null>;
}

/** Starts `retinue serve` on a free port. */
export async function serveProcess(options: StartOptions, words: readonly string[] = []): Promise<ServeProcess> {
  const child = startRetinue(["serve", "--port", "0", "--json", ...words], options);
  let problems = "";
  child.stderr.on("data", (chunk: Buffer) => {
    problems += chunk.toString();
  });
  const ended = once(child, "exit");
  const lines = createInterface({ input: child.stdout });
  const line = await Promise.race([once(lines, "line"), ended.then(() => undefined)]);
  if (line === undefined) throw new Error(`The server did not start: ${problems}`);
  const { url, token, file } = JSON.parse(String(line[0]));
  const headers = { Authorization: `Bearer ${token}` };
  return {
    child,
    url,
    token,
    file,
    messages: () => problems,
    send: (method, path, body) => sendTo(url, { method, path, headers, body }),
    stream: (path, more) => openTestStream(url, path, { ...headers, ...more }),
    end: async (signal) => {
      child.kill(signal);
      await ended;
      return child.exitCode;
    },
  };
}
