import { closeSync, openSync, readdirSync, readFileSync } from "node:fs";
import { descriptorLimit } from "./process-info.ts";

let inherited: readonly number[] | undefined;
let nothing: number | undefined;

/**
 * Returns `stdio` entries, from descriptor 3 on, that replace the descriptors this process inherited from its parent.
 * Otherwise, its children would inherit them too and could escape from a sandbox through an open directory. Node itself
 * closes only the lowest descriptors.
 */
export function replaceInherited(): readonly ("ignore" | number)[] {
  inherited ??= replaceable(inheritedDescriptors());
  const last = inherited.at(-1);
  if (last === undefined) return [];
  nothing ??= openSync("/dev/null", "r");
  const replaced = new Set(inherited);
  return Array.from({ length: last - 2 }, (_, index) =>
    nothing !== undefined && replaced.has(index + 3) ? nothing : "ignore",
  );
}

/**
 * Closes the descriptors above this process's limit, which were opened before the limit was lowered. They can't be
 * replaced, because a process that is given them could not be started. Returns the others.
 */
function replaceable(descriptors: readonly number[]): readonly number[] {
  const limit = descriptorLimit();
  for (const descriptor of descriptors) if (descriptor >= limit) closeSync(descriptor);
  return descriptors.filter((descriptor) => descriptor < limit);
}

/** Lists the descriptors that children inherit, in order. Does not include descriptors that Node itself opens. */
function inheritedDescriptors(): readonly number[] {
  if (process.platform !== "linux") return [];
  return namesIn("/proc/self/fdinfo")
    .map(Number)
    .filter((descriptor) => descriptor > 2 && !closesOnExec(descriptor))
    .sort((a, b) => a - b);
}

function closesOnExec(descriptor: number): boolean {
  try {
    const flags = /^flags:\s*([0-7]+)$/m.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, "utf8"))?.[1];
    return flags === undefined || (Number.parseInt(flags, 8) & CLOSE_ON_EXEC) !== 0;
  } catch {
    // The descriptor has been closed since it was listed.
    return true;
  }
}

/** `O_CLOEXEC` on Linux. */
const CLOSE_ON_EXEC = 0o2000000;

function namesIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}
