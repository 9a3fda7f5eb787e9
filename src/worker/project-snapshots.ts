import type { WorkerPort } from "../ports/index.ts";
import { type ProjectPlace, type ReadProject, readProject } from "./read-project.ts";

/** Number of snapshots that are remembered. One worker may serve many sessions, which often have the same snapshot. */
const MAX_REMEMBERED = 8;

/**
 * Creates the part of a worker that reads sessions' files. It remembers the newest snapshots. While a file is
 * incomplete, its version from the session's last snapshot is used, unless that snapshot has been forgotten.
 */
export function createProjectSnapshots(options: ProjectPlace): Pick<WorkerPort, "snapshot"> {
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
  };
}
