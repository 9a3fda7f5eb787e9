import { type ChildProcess, spawn } from "node:child_process";
import type { Readable } from "node:stream";

/**
 * Network that all confined commands in a session share. It has only a loopback device, so a command can reach only
 * servers that other commands in the session started. The network is kept open by a process that ends with this one.
 */
export interface SharedNetwork {
  /** Command prefix that makes a command run in this network. */
  readonly enter: readonly string[];
  readonly isOpen: boolean;
  close(): void;
}

export interface NetworkPrograms {
  readonly bubblewrap: string;
  readonly nsenter: string;
}

/** Port in this network that forwards connections to the Unix socket of the proxy. */
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

/** Opens a network. Rejects with the system's error message. */
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
    // Commands in the network must not find Retinue's environment variables in the process that keeps the network open.
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

/**
 * Returns the pid of the network's first process once the network can be entered. The network can be entered when both
 * the pid and the first output from inside have arrived.
 */
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
    holder.once("close", () => reject(new Error(said.error.trim() || "it exited immediately")));
  });
}

/**
 * Lets this process exit while the process that holds the network is running. When its input closes, the holder exits
 * too.
 */
function letGo(holder: ChildProcess): void {
  holder.unref();
  for (const stream of holder.stdio) (stream as { unref?: () => void } | null)?.unref?.();
}
