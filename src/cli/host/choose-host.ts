import { stateDirectory } from "../../app/index.ts";
import { chosenDirectory } from "../real-directory.ts";
import { createFileHost } from "./file-host.ts";
import type { SessionHost } from "./session-host.ts";

/** Returns the server that `--server` names, or else the files on this machine. */
export async function chooseHost(server: string | undefined): Promise<SessionHost> {
  const home = stateDirectory(process.env);
  if (server === undefined) return createFileHost(home);
  const { createServerHost } = await import("./server-host.ts");
  return createServerHost({ url: server, home });
}

interface ListOptions {
  readonly all: boolean;
  readonly cwd: string | undefined;
  readonly server: string | undefined;
}

/**
 * Returns the directory whose sessions are listed; undefined for all. A server's sessions can belong to directories on
 * other machines, so all of them are listed unless a directory is given.
 */
export function listedDirectory({ all, cwd, server }: ListOptions): string | undefined {
  if (all) return undefined;
  return server === undefined ? chosenDirectory(cwd) : cwd;
}
