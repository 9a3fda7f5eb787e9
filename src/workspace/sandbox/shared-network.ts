import { type ChildProcess, spawn } from "node:child_process";
import type { Readable } from "node:stream";

/**
 * A network of its own that all confined commands of a session share: it has a loopback and nothing else, so a server
 * that one command starts is reached by the next, and nobody else's is. Held by a process that ends with this one.
 */
export interface SharedNetwork {
  /** What to put before a command, so that it starts in this network. */
  readonly enter: readonly string[];
  readonly isOpen: boolean;
  close(): void;
}

export interface NetworkPrograms {
  readonly bubblewrap: string;
  readonly nsenter: string;
}

/** In it, this port leads to the given Unix socket, where a proxy listens. */
export const PROXY_PORT = 3128;

const forwarder = `
const net = require("node:net");
net.createServer({ allowHalfOpen: true }, (near) => {
  const far = net.connect({ path: process.argv[1], allowHalfOpen: true });
  const end = () => { near.destroy(); far.destroy(); };
  near.on("error", end).pipe(far).on("error", end).pipe(near);
}).listen(${PROXY_PORT}, "127.0.0.1", () => process.stdout.write("ready\\n"));
process.stdin.on("end", () => process.exit()).resume();
`;

/** Rejects with what the system says against it. */
export async function openSharedNetwork(programs: NetworkPrograms, proxySocket?: string): Promise<SharedNetwork> {
  const program =
    proxySocket === undefined ? ["sh", "-c", "echo ready; exec cat"] : [process.execPath, "-e", forwarder, proxySocket];
  const separate = [
    "--dev-bind",
    "/",
    "/",
    "--unshare-user",
    "--unshare-net",
    "--die-with-parent",
    "--cap-drop",
    "ALL",
  ];
  const holder = spawn(programs.bubblewrap, [...separate, "--info-fd", "3", "--", ...program], {
    stdio: ["pipe", "pipe", "pipe", "pipe"],
    // Whoever shares the network must find nothing of our environment in its holder.
    env: { PATH: "/usr/bin:/bin" },
  });
  const pid = await untilReady(holder);
  let isOpen = true;
  holder.once("exit", () => {
    isOpen = false;
  });
  letGo(holder);
  return {
    enter: [programs.nsenter, "--target", String(pid), "--user", "--net", "--preserve-credentials", "--"],
    get isOpen() {
      return isOpen;
    },
    close: () => {
      holder.stdin?.end();
      holder.kill("SIGKILL");
    },
  };
}

/** The pid of the first process in it, once it can be entered: it is told a moment before, the word from inside after. */
function untilReady(holder: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    const said = { info: "", out: "", error: "" };
    const listen = (name: keyof typeof said, stream: Readable): void => {
      stream.setEncoding("utf8").on("data", (part: string) => {
        said[name] += part;
        const pid = /"child-pid":\s*(\d+)[^\d]/.exec(said.info)?.[1];
        if (pid !== undefined && said.out !== "") resolve(Number(pid));
      });
    };
    listen("out", holder.stdout as Readable);
    listen("error", holder.stderr as Readable);
    listen("info", holder.stdio[3] as Readable);
    holder.once("error", reject);
    holder.once("close", () => reject(new Error(said.error.trim() || "it ended at once")));
  });
}

/** It must not keep this process from ending; its input closes then, and it ends too. */
function letGo(holder: ChildProcess): void {
  holder.unref();
  for (const stream of holder.stdio) (stream as { unref?: () => void } | null)?.unref?.();
}
