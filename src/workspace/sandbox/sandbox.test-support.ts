import { mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { deleteTree } from "../../lib/index.ts";
import type { ReadOnlyView, Workspace } from "../../ports/index.ts";
import { needs } from "../../testing/needs.test-support.ts";
import { createLocalWorkspace } from "../local-workspace.ts";
import { createSandbox, type Sandbox, type SandboxOptions } from "./create-sandbox.ts";

export interface SandboxPlace {
  readonly top: string;
  readonly root: string;
  readonly home: string;
  readonly scratch: string;
  readonly sandbox: Sandbox;
  readonly workspace: Workspace;
  readonly told: string[];
  /** Working directory; defaults to the root. */
  run(command: string, root?: string): Promise<Ran>;
  /** Runs a command in the read-only profile. */
  read(command: string, view?: Partial<ReadOnlyView>): Promise<Ran>;
  remove(): Promise<void>;
}

export interface Ran {
  readonly code: number | null;
  readonly output: string;
  readonly why: string | undefined;
}

/** Creates a workspace, a home directory and a sandbox outside /tmp, because commands have their own /tmp. */
export function createSandboxPlace(own: Partial<SandboxOptions> = {}, parent = "/var/tmp"): SandboxPlace {
  const top = realpathSync(mkdtempSync(join(parent, "sandbox-")));
  const [root, home, scratch] = [join(top, "project"), join(top, "home"), join(top, "state/scratch")];
  mkdirSync(root);
  mkdirSync(home);
  const told: string[] = [];
  const tell = (message: string): void => void told.push(message);
  const sandbox = createSandbox({
    mode: "require",
    scratch,
    userHome: home,
    writable: [],
    hidden: [join(top, "state")],
    shown: [],
    domains: [],
    tell,
    ...own,
  });
  const workspace = createLocalWorkspace({ root, environment: process.env, home, sandbox });
  return {
    ...{ top, root, home, scratch, sandbox, workspace, told },
    run: (command, other) =>
      run(other === undefined ? workspace : createLocalWorkspace({ root: other, environment: process.env, sandbox }), {
        command,
      }),
    read: (command, view) => run(workspace, { command, readsOnly: { visible: [], hidden: [], ...view } }),
    async remove() {
      await sandbox.close();
      await deleteTree(top);
    },
  };
}

async function run(
  workspace: Workspace,
  { command, readsOnly }: { readonly command: string; readonly readsOnly?: ReadOnlyView },
): Promise<Ran> {
  const state = await workspace.confinement?.();
  if (state?.kind !== "on") throw new Error(`no sandbox: ${JSON.stringify(state)}`);
  let output = "";
  const running = workspace.spawn({
    command: "bash",
    args: ["--norc", "--noprofile", "-c", command],
    tag: `sandbox-test-${process.pid}`,
    confined: true,
    readsOnly,
    onOutput: (chunk) => {
      output += Buffer.from(chunk).toString();
    },
  });
  const { code, failure } = await running.exited;
  if (failure !== undefined) throw new Error(failure);
  await running.end();
  return { code, output, why: running.explain?.(output, code !== 0) };
}

const probe = createSandbox({
  ...{ mode: "require", scratch: join(tmpdir(), `sandbox-probe-${process.pid}`), userHome: tmpdir(), writable: [] },
  ...{ hidden: [], shown: [], domains: [], tell: () => undefined },
});
const state = await probe.ready();
await probe.close();
rmSync(join(tmpdir(), `sandbox-probe-${process.pid}`), { recursive: true, force: true });

/** Options for tests that run commands in the sandbox. */
export const needsSandbox = needs(
  state.kind === "on" ? "a sandbox" : `a sandbox (${state.reason})`,
  state.kind === "on",
);
