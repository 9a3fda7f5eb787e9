import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { root } from "./page-place.ts";

export interface Program {
  /** Unique, a file name without an ending. */
  readonly name: string;
  readonly text: string;
}

export interface CheckedPrograms {
  /** By name: what the compiler has to say, empty when all is well. */
  readonly problems: ReadonlyMap<string, readonly string[]>;
  /** The JavaScript to run. */
  fileOf(name: string): string;
}

/** Type-checks all programs at once, strictly, against the built package as a user has it, and compiles them. */
export function checkPrograms(directory: string, programs: readonly Program[]): CheckedPrograms {
  mkdirSync(join(directory, "node_modules"), { recursive: true });
  symlinkSync(root, join(directory, "node_modules/retinue"));
  writeFileSync(join(directory, "package.json"), '{ "type": "module" }');
  const files = programs.map(({ name, text }) => {
    const file = join(directory, `${name}.ts`);
    writeFileSync(file, text);
    return file;
  });
  const program = ts.createProgram(files, {
    target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    typeRoots: [join(root, "node_modules/@types")],
    types: ["node"],
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    skipLibCheck: true,
  });
  program.emit();
  const problems = new Map<string, string[]>(programs.map(({ name }) => [name, []]));
  for (const { file, start, messageText } of ts.getPreEmitDiagnostics(program)) {
    const name = programs.find((each) => file?.fileName.endsWith(`/${each.name}.ts`))?.name;
    const line = file && start !== undefined ? file.getLineAndCharacterOfPosition(start).line + 1 : 0;
    const told = `line ${line}: ${ts.flattenDiagnosticMessageText(messageText, " ")}`;
    if (name === undefined) throw new Error(told);
    problems.get(name)!.push(told);
  }
  return { problems, fileOf: (name) => join(directory, `${name}.js`) };
}
