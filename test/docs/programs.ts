import { spawnSync } from "node:child_process";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./page-place.ts";

export interface Program {
  /** Unique file name without an extension. */
  readonly name: string;
  readonly text: string;
}

export interface CheckedPrograms {
  /** The compiler's messages for each program, by name. */
  readonly problems: ReadonlyMap<string, readonly string[]>;
  /** Returns the path of the compiled program. */
  fileOf(name: string): string;
}

/** Type-checks all programs at once, strictly, against the built package as users install it, and compiles them. */
export function checkPrograms(directory: string, programs: readonly Program[]): CheckedPrograms {
  const problems = new Map<string, string[]>(programs.map(({ name }) => [name, []]));
  const checked: CheckedPrograms = { problems, fileOf: (name) => join(directory, `${name}.js`) };
  if (programs.length === 0) return checked;
  mkdirSync(join(directory, "node_modules"), { recursive: true });
  symlinkSync(root, join(directory, "node_modules/retinue"));
  for (const name of ["zod", "@modelcontextprotocol", "@ai-sdk"])
    symlinkSync(join(root, "node_modules", name), join(directory, "node_modules", name));
  writeFileSync(join(directory, "package.json"), '{ "type": "module" }');
  for (const { name, text } of programs) writeFileSync(join(directory, `${name}.ts`), text);
  writeFileSync(join(directory, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["*.ts"] }));
  const tsc = join(root, "node_modules/typescript-native/bin/tsc");
  const words = [tsc, "-p", directory, "--pretty", "false"];
  const { stdout, stderr } = spawnSync(process.execPath, words, { cwd: directory, encoding: "utf8" });
  // Continuation lines of a message are indented.
  for (const told of `${stdout}${stderr}`.split(/\n(?! )/).filter(Boolean)) {
    const [, name = "", line = "", message = ""] = /^(.+?)\.ts\((\d+),\d+\): (.*)$/s.exec(told) ?? [];
    const own = problems.get(name);
    if (own === undefined) throw new Error(told);
    own.push(`line ${line}: ${message}`);
  }
  return checked;
}

const compilerOptions = {
  target: "es2022",
  module: "nodenext",
  moduleResolution: "nodenext",
  typeRoots: [join(root, "node_modules/@types")],
  types: ["node"],
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  skipLibCheck: true,
};
