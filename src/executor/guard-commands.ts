import { holdsInstructions, protectedPart } from "../permissions/index.ts";
import type { ChangedFile, FileGuard, ResultStore } from "../ports/index.ts";
import type { CallId, FileImage, Policy } from "../protocol/index.ts";
import { authorizeAccess, type JudgedCall, type Place } from "./judge-call.ts";

/**
 * Notices which protected files commands change. The text of a command does not name all of them: git and patch write
 * what a branch or a patch contains, and a sandbox prevents only changes that no ordinary command makes.
 */
export interface CommandGuard {
  /** Must be called before a command runs that may change files. */
  begin(): void;
  /** Returns the files that were changed since. `stays`: the command is still running in the background. */
  end(stays: boolean): readonly ChangedFile[];
  /** Returns the files that commands in the background have changed. */
  look(): readonly ChangedFile[];
}

export function createCommandGuard({ workspace }: Pick<Place, "workspace">): CommandGuard {
  let guard: FileGuard | undefined;
  /** Number of commands that may still change files. */
  let running = 0;
  return {
    begin() {
      // What changed while no command was running was changed by someone else.
      if (guard === undefined) guard = workspace.guard?.(isGuarded);
      else if (running === 0) guard.review();
      running += 1;
    },
    end(stays) {
      if (!stays) running -= 1;
      return guard?.review() ?? [];
    },
    look: () => (running === 0 ? [] : (guard?.review() ?? [])),
  };
}

function isGuarded(path: string): boolean {
  return protectedPart(path) !== undefined || holdsInstructions(path);
}

interface Trespass {
  readonly callId: CallId;
  readonly judged: JudgedCall;
  readonly policy: Policy;
  readonly place: Place;
  readonly results: ResultStore;
}

/** Returns the changes that no rule and no mode permits, with the files' earlier content, so that it can be restored. */
export async function trespassesAmong(
  changes: readonly ChangedFile[],
  { callId, judged, policy, place, results }: Trespass,
): Promise<readonly FileImage[]> {
  const images: FileImage[] = [];
  for (const { path, before, after } of changes) {
    const authority = { toolName: "Bash", policy, judged, granted: false };
    const { effect } = await authorizeAccess({ kind: "write", path }, authority, place);
    if (effect === "allow") continue;
    const id = `guarded_${callId}_${images.length}`;
    const kept = before && (await results.save(id, before).catch(() => undefined));
    images.push({ path, before: before === null ? null : kept, after });
  }
  return images;
}
