import { homedir } from "node:os";
import { join } from "node:path";
import { watchSnapshot } from "../definitions/index.ts";
import type { WorkerPort } from "../ports/index.ts";
import { managedDirectory } from "../settings/index.ts";
import { type ProjectPlace, type ReadProject, readProject } from "./read-project.ts";

/** Number of snapshots that are remembered. One worker may serve many sessions, which often have the same snapshot. */
const MAX_REMEMBERED = 8;

export interface ProjectSnapshotsOptions extends ProjectPlace {
  /** Receives messages for the user. */
  readonly report: (message: string) => void;
}

/**
 * Creates the part of a worker that reads the files of sessions. It remembers the newest snapshots, so that a file that
 * is incomplete keeps its last good version. If a snapshot was forgotten, an incomplete file has no earlier version.
 */
export function createProjectSnapshots(options: ProjectSnapshotsOptions): Pick<WorkerPort, "snapshot" | "watch"> {
  let remembered: readonly ReadProject[] = [];
  // Hashes are computed on demand, so that opening a session does not wait for them.
  const recall = (hash: string) => remembered.find(({ snapshot }) => snapshot.hash === hash);
  const remember = (read: ReadProject): void => {
    remembered = [...remembered.filter((each) => each !== read), read].slice(-MAX_REMEMBERED);
  };
  return {
    snapshot: async (request) => {
      const { known } = request;
      const previous = known === undefined ? undefined : recall(known);
      const read = await readProject(options, request, previous?.files);
      const changed = known === undefined || read.snapshot.hash !== known;
      remember(changed ? read : (previous ?? read));
      return changed ? { changed, snapshot: read.snapshot } : { changed };
    },
    watch: async ({ known, ...request }, onChange) => {
      const { root: cwd, home, environment, report } = options;
      let last = (known === undefined ? undefined : recall(known)) ?? (await readProject(options, request));
      const watching = await watchSnapshot(
        {
          // All directories of the project are watched, because the user can trust them at any time.
          trusted: true,
          cwd,
          home: environment["HOME"] || homedir(),
          stateHome: home,
          managedDirectory: options.managedDirectory ?? managedDirectory,
          files: stateFiles.map((name) => join(home, name)),
          initial: last.snapshot,
          load: async () => {
            last = await readProject(options, request, last.files);
            return last.snapshot;
          },
          onProblem: report,
        },
        ({ hash }) => {
          remember(last);
          onChange(hash);
        },
      );
      return () => watching.close();
    },
  };
}

/** Files in the state directory that a snapshot depends on, besides instructions. */
const stateFiles = ["trust.json", "plugins.json", "settings.json", "permissions.jsonc"];
