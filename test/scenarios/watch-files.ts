import childProcess from "node:child_process";
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";

/** Paths below the directory `RETINUE_TEST_HIDDEN` that this process tried to use, with the functions it called. */
export const touched: string[] = [];

const hidden = process.env["RETINUE_TEST_HIDDEN"] ?? "";
type Functions = Record<string, unknown>;

function isHidden(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(isHidden);
  if (typeof value === "object" && value !== null && "cwd" in value) return isHidden(value.cwd);
  const path = value instanceof URL || value instanceof Uint8Array ? String(value) : value;
  return typeof path === "string" && path.includes(hidden);
}

/** Makes all of a module's functions report and refuse hidden paths. */
function guard(functions: Functions): void {
  for (const [name, given] of Object.entries(functions)) {
    if (typeof given !== "function" || /^[A-Z]/.test(name)) continue;
    const guarded = (...args: unknown[]): unknown => {
      if (!args.slice(0, 3).some(isHidden)) return given(...args);
      touched.push(`${name} ${args.filter(isHidden).map(String).join(" ")}`);
      throw Object.assign(new Error(`ENOENT: ${name}`), { code: "ENOENT" });
    };
    functions[name] = Object.assign(guarded, given);
    if ("native" in given) guard(functions[name] as Functions);
  }
}

guard(fs as unknown as Functions);
guard(fs.promises as unknown as Functions);
guard(childProcess as unknown as Functions);
syncBuiltinESMExports();
