import { type ExecFileException, execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, readFile, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";

export const root = resolve(import.meta.dirname, "../..");

export interface Finished {
  code: number;
  stdout: string;
  stderr: string;
}

export interface House {
  directory: string;
  write(files: Record<string, string>): Promise<void>;
  run(script: string, ...args: string[]): Promise<Finished>;
  remove(): Promise<void>;
}

/**
 * Creates a directory with this package's tooling and installed packages, but with the given files as its source. They
 * are compiled without Node's types, which take the compiler longer than everything else.
 */
export async function createHouse(files: Record<string, string>): Promise<House> {
  const directory = await realpath(await mkdtemp(join(tmpdir(), "retinue-house-")));
  const tooling = ["package.json", "package-lock.json", "tsconfig.build.json", "tsconfig.web.json", "biome.json"];
  for (const name of [...tooling, ".gitignore", "knip.ts", "layers.cjs", ".dependency-cruiser.cjs", "scripts"]) {
    await cp(join(root, name), join(directory, name), { recursive: true });
  }
  const settings = await readFile(join(root, "tsconfig.json"), "utf8");
  await writeFile(join(directory, "tsconfig.json"), settings.replace('"types": ["node"]', '"types": []'));
  await symlink(join(root, "node_modules"), join(directory, "node_modules"));
  const house: House = {
    directory,
    async write(more) {
      for (const [name, text] of Object.entries(more)) {
        await mkdir(dirname(join(directory, name)), { recursive: true });
        await writeFile(join(directory, name), text);
      }
    },
    run: (script, ...args) => finish(process.execPath, [join(directory, "scripts", script), ...args], directory),
    remove: () => rm(directory, { recursive: true, force: true }),
  };
  await house.write(files);
  return house;
}

export function finish(command: string, args: string[], cwd: string): Promise<Finished> {
  return new Promise((settle, reject) => {
    execFile(command, args, { cwd }, (error: ExecFileException | null, stdout, stderr) => {
      if (error && typeof error.code !== "number") reject(error);
      else settle({ code: Number(error?.code ?? 0), stdout, stderr });
    });
  });
}
