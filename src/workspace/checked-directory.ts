import { closeSync, constants, mkdirSync, openSync } from "node:fs";
import { basename, dirname } from "node:path";
import type { FileFailure } from "../ports/index.ts";
import { codeOf, failure, systemFailure } from "./file-stat.ts";
import { isOpenedPath, noFollow, pathWithin } from "./opened-path.ts";

export interface CheckedDirectory {
  readonly ok: true;
  readonly path: string;
  readonly descriptor: number;
  /** For use at once: names that entry of this very directory, whatever its path leads to by now. */
  within(name: string): string;
  /** False once the path leads elsewhere. */
  isStillThere(): boolean;
  close(): void;
}

const flags = constants.O_RDONLY | (constants.O_DIRECTORY ?? 0) | noFollow;

/** Opens a directory by its real path and holds on to it. With `create`, missing ones are made one by one, never through a link. */
export function openCheckedDirectory(
  realPath: string,
  options: { readonly create?: boolean } = {},
): CheckedDirectory | FileFailure {
  try {
    return checked(openSync(realPath, flags), realPath);
  } catch (error) {
    const parent = dirname(realPath);
    if (codeOf(error) !== "ENOENT" || !options.create || parent === realPath) return systemFailure(error, realPath);
    const above = openCheckedDirectory(parent, options);
    return above.ok ? openChild(above, realPath) : above;
  }
}

function openChild(parent: CheckedDirectory, realPath: string): CheckedDirectory | FileFailure {
  const place = parent.within(basename(realPath));
  try {
    makeDirectory(place);
    return checked(openSync(place, flags), realPath);
  } catch (error) {
    return systemFailure(error, realPath);
  } finally {
    parent.close();
  }
}

function makeDirectory(place: string): void {
  try {
    mkdirSync(place);
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw error;
  }
}

function checked(descriptor: number, path: string): CheckedDirectory | FileFailure {
  if (!isOpenedPath(descriptor, path)) {
    closeSync(descriptor);
    return failure("moved", `the directory ${path} was moved or replaced by a link`);
  }
  return {
    ok: true,
    path,
    descriptor,
    within: (name) => pathWithin({ descriptor, path }, name),
    isStillThere: () => isOpenedPath(descriptor, path),
    close: () => closeSync(descriptor),
  };
}
