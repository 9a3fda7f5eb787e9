import { randomBytes } from "node:crypto";
import type { Workspace } from "../../ports/index.ts";
import { findRipgrep } from "./find-ripgrep.ts";
import { createRipgrepSearch } from "./ripgrep-search.ts";
import type { SearchFiles } from "./search-request.ts";

/** Ripgrep where there is one, else a thread of our own; looked for at the first search. */
export function chooseSearch({
  workspace,
  ripgrep,
}: {
  readonly workspace: Workspace;
  readonly ripgrep?: string | null;
}): SearchFiles {
  let chosen: SearchFiles | undefined;
  return (request, listener) => {
    if (!chosen) {
      const program = ripgrep === undefined ? findRipgrep(process.env) : (ripgrep ?? undefined);
      const tag = () => `search-${randomBytes(8).toString("hex")}`;
      chosen = program === undefined ? inThread : createRipgrepSearch(workspace, { program, tag });
    }
    return chosen(request, listener);
  };
}

const inThread: SearchFiles = async (request, listener) => {
  const { searchInThread } = await import("./thread-search.ts");
  return searchInThread(request, listener);
};
