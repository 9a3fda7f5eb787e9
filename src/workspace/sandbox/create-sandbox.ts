import type { SandboxMode } from "../../protocol/index.ts";
import type { ConfinedCommand, ConfinedRequest, Confinement } from "./confine-command.ts";
import type { Absence, OpenSandbox } from "./open-sandbox.ts";
import { createPathWatch, type PathWatch } from "./watch-paths.ts";

export interface SandboxOptions extends Confinement {
  readonly mode: SandboxMode;
  /** Tells the user that there is no sandbox, or that a command created something dangerous. */
  readonly tell: (message: string) => void;
}

/** Sandbox of a session, shared by its workspaces. */
export interface Sandbox {
  /** Predicts whether commands will be confined, without trying the sandbox. */
  expected(): Promise<SandboxState["kind"]>;
  /** Returns whether commands can be confined. The first call tries the sandbox. */
  ready(): Promise<SandboxState>;
  /**
   * Runs work that writes files with the user's approval, so that these files are not treated as created by a command.
   */
  readonly review: PathWatch["review"];
  /** May be called only after `ready` has returned `on`. */
  confine(request: ConfinedRequest): ConfinedCommand;
  close(): Promise<void>;
}

export type SandboxState =
  | { readonly kind: "on" }
  /** There is no sandbox, and commands run without one. */
  | ({ readonly kind: "off" } & Absence)
  /** There is no sandbox, so commands must not run. */
  | ({ readonly kind: "missing" } & Absence);

export function createSandbox({ mode, ...options }: SandboxOptions): Sandbox {
  let opening: Promise<OpenSandbox | Absence> | undefined;
  let open: OpenSandbox | undefined;
  let isTold = false;
  let wasOn = false;
  const watch = createPathWatch(options.state, options.tell);
  const absent = mode === "require" ? "missing" : "off";
  return {
    async expected() {
      if (mode === "off") return "off";
      const result = await (opening ?? import("./open-sandbox.ts").then(({ missingProgram }) => missingProgram()));
      return result !== undefined && "reason" in result ? absent : "on";
    },
    async ready() {
      if (mode === "off") return { kind: "off", reason: "it is turned off in the settings" };
      if (open?.isOpen() === false) {
        open.shut();
        open = opening = undefined;
      }
      // Loaded on the first command, because most sessions only read at first.
      opening ??= import("./open-sandbox.ts").then(({ openSandbox }) => openSandbox(options));
      const result = await opening;
      if (!("reason" in result)) {
        open = result;
        wasOn = true;
        return { kind: "on" };
      }
      // Commands that were allowed because there was a sandbox must never run without one.
      const kind = wasOn ? "missing" : absent;
      if (wasOn) opening = undefined;
      const what = kind === "missing" ? "Commands can't run" : "Commands run";
      const asRoot = process.getuid?.() === 0 ? " Retinue runs as root, so commands can change the whole system." : "";
      if (!isTold) options.tell(`${what} without a sandbox: ${inWords(result)}${kind === "off" ? asRoot : ""}`);
      isTold = true;
      return { kind, ...result };
    },
    review: watch.review,
    confine(request) {
      if (open === undefined) throw new Error("A command was confined before the sandbox was ready.");
      return open.confine(request, { ...options, watch });
    },
    async close() {
      const result = await opening;
      opening = undefined;
      if (result !== undefined && !("reason" in result)) result.shut();
    },
  };
}

function inWords({ reason, fix }: Absence): string {
  return fix === undefined ? `${reason}.` : `${reason}. ${fix}`;
}
