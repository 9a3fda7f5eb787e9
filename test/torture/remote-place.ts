import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import type { RemoteWorker } from "../../src/link/index.ts";
import type { WorkerProcessOptions } from "../../src/link/run-worker.test-support.ts";
import { startHub } from "../../src/link/worker-over-link.test-support.ts";
import type { WorkerSession } from "../../src/ports/index.ts";
import { type Decision, type Policy, type ToolCall, textOf } from "../../src/protocol/index.ts";
import { bundleProgram } from "../../src/testing/bundle-program.test-support.ts";
import type { RanLines } from "./run-lines.ts";
import { type Stage, secret } from "./shell-stage.ts";

/** Decides on lines and runs them on a worker in a process of its own, which is connected as on another machine. */
export interface RemotePlace {
  judge(command: string, policy: Policy): Promise<Decision>;
  /** Runs lines as calls of the Bash tool. */
  run(lines: readonly string[], policy: Policy): Promise<RanLines>;
  close(): Promise<void>;
}

/** Number of lines that run at the same time. */
const RUNNING = 4;
const program = join(import.meta.dirname, "../../src/link/run-worker.test-support.ts");

/**
 * Starts a worker for a stage. Without Retinue's sandbox, the worker runs in a container in which it can change only the
 * stage.
 */
export async function createRemotePlace(stage: Stage, { sandboxed }: { sandboxed: boolean }): Promise<RemotePlace> {
  const { hub, url } = await startHub();
  const name = `torture-${randomUUID()}`;
  const connected = new Promise<RemoteWorker>((resolve) => {
    hub.onChange((worker) => worker.name === name && resolve(worker));
  });
  const own = realpathSync(mkdtempSync("/var/tmp/retinue-remote-"));
  const { root, home: userHome } = stage;
  const bundle = bundleProgram(program);
  const options: WorkerProcessOptions = { url, root, home: join(own, "state"), userHome, name, ledgerDirectory: own };
  const words = [process.execPath, bundle, JSON.stringify(options)];
  const [command = "", ...args] = sandboxed ? words : [...container([stage.top, own], dirname(bundle)), ...words];
  const worker = spawn(command, args, { stdio: ["ignore", "ignore", "inherit"], cwd: root });
  const exited = once(worker, "exit").then(() => {
    throw new Error("The worker has ended.");
  });
  exited.catch(() => {});
  const shown: string[] = [];
  const save = async (text: string) => {
    shown.push(text);
    return "retinue://result/r1";
  };
  const session = await Promise.race([connected.then(open), exited]);
  const executor = session.executor(root);
  const call = (id: number, line: string): ToolCall => ({
    ...{ callId: `c${id}`, name: "Bash" },
    inputJson: JSON.stringify({ command: line, timeout: 4_000 }),
  });
  let count = 0;

  function open(remote: RemoteWorker): Promise<WorkerSession> {
    return remote.open({
      ...{ sessionId: `s-${randomUUID()}`, directory: join(own, "session"), since: 0, passedVariables: [] },
      ...{ sandbox: { mode: sandboxed ? "require" : "off" }, trusted: true, report: () => {} },
      results: {
        save: (_, content) => save(Buffer.from(content).toString()),
        saveFile: (_, path) => save(readFileSync(path, "utf8")),
      },
    });
  }

  return {
    async judge(line, policy) {
      const judgment = await executor.judge(call(count++, line), policy, "main");
      if (judgment.kind === "decided") return judgment.decision;
      return { effect: "deny", rule: "invalid", scope: "builtin", reason: judgment.message };
    },
    async run(lines, policy) {
      const revealing: number[] = [];
      let next = 0;
      let ran = 0;
      const runSome = async (): Promise<void> => {
        for (let index = next++; index < lines.length; index = next++) {
          shown.length = 0;
          const request = { agentId: "main", call: call(count++, lines[index]!), policy };
          const result = await executor.execute(request, () => {}, new AbortController().signal);
          if (result.outcome === "denied") throw new Error(`denied when it was run: ${lines[index]}`);
          ran += 1;
          if ([textOf(result.content), ...shown].some((text) => text.includes(secret))) revealing.push(index);
        }
      };
      await Promise.all(Array.from({ length: RUNNING }, runSome));
      await executor.release("main");
      const left = processesOf(userHome).map((each) => `left the process ${each}`);
      return {
        count: ran,
        revealing: revealing.toSorted((a, b) => a - b),
        symptoms: [...stage.differences(), ...left],
      };
    },
    async close() {
      await executor.close();
      await session.close();
      worker.kill("SIGTERM");
      await exited.catch(() => {});
      rmSync(own, { recursive: true, force: true });
    },
  };
}

/** A container in which only these directories are writable. It shares the network, because the worker needs the server. */
function container(writable: readonly string[], bundle: string): readonly string[] {
  const system = ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"];
  const repository = join(import.meta.dirname, "../..");
  const read = [repository, bundle].flatMap((path) => ["--ro-bind", path, path]);
  const own = [...read, ...writable.flatMap((path) => ["--bind", path, path])];
  return ["/usr/bin/bwrap", ...system, ...own, "--unshare-pid", "--unshare-ipc", "--die-with-parent", "--"];
}

/** Returns the processes whose home directory is the stage's. Only commands have this directory. */
function processesOf(home: string): readonly string[] {
  return readdirSync("/proc").flatMap((pid) => {
    try {
      const environment = readFileSync(`/proc/${pid}/environ`, "utf8").split("\0");
      return environment.includes(`HOME=${home}`) ? [readFileSync(`/proc/${pid}/comm`, "utf8").trim()] : [];
    } catch {
      return [];
    }
  });
}
