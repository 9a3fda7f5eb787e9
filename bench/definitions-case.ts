import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { median } from "./client.ts";
import type { Figure } from "./figure.ts";

const count = 2_000;

/** Measures loading a snapshot of 2,000 agent files in a new process, against only reading the files. */
export async function definitionsCase(): Promise<Figure[]> {
  const place = realpathSync(mkdtempSync(join(tmpdir(), "retinue-definitions-")));
  const options = makeProject(join(place, "large"), count);
  const program = await compile(join(place, "definitions-cold.mjs"));
  const rounds = Array.from({ length: 9 }, () => {
    const { stdout } = spawnSync(process.execPath, [program, options.cwd, options.home], { encoding: "utf8" });
    const round: { baseline: number; ours: number; read: number; loaded: number } = JSON.parse(stdout);
    if (round.read !== count || round.loaded !== count) throw new Error(`loaded ${round.loaded} of ${round.read}`);
    return round;
  });
  rmSync(place, { recursive: true });
  return [
    {
      name: "cold load of 2,000 definitions, against reading the files",
      ours: median(rounds.map(({ ours }) => ours)),
      baseline: median(rounds.map(({ baseline }) => baseline)),
      unit: "ms",
      limit: 25,
    },
  ];
}

/** Compiles the program as it would be shipped: one JavaScript file that imports packages from node_modules. */
async function compile(outfile: string): Promise<string> {
  const outside = (path: string) => ({ path: fileURLToPath(import.meta.resolve(path)), external: true });
  await build({
    entryPoints: [fileURLToPath(new URL("definitions-cold.ts", import.meta.url))],
    outfile,
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node20",
    plugins: [
      { name: "packages", setup: ({ onResolve }) => onResolve({ filter: /^[a-z@]/ }, ({ path }) => where(path)) },
    ],
  });
  return outfile;

  function where(path: string) {
    return isBuiltin(path) ? { path, external: true } : outside(path);
  }
}

function makeProject(place: string, files: number): { readonly cwd: string; readonly home: string } {
  const [cwd, home] = [join(place, "project"), join(place, "home")];
  const agents = join(cwd, ".claude", "agents");
  mkdirSync(agents, { recursive: true });
  mkdirSync(join(cwd, ".git"));
  mkdirSync(home);
  for (let index = 0; index < files; index += 1) {
    writeFileSync(join(agents, `agent-${index}.md`), agentText(index, "You do your part and report what you found."));
  }
  return { cwd, home };
}

/**
 * Returns a typical definition: one in three has a YAML list, one in ten a folded text, and one in twenty is not valid
 * YAML.
 */
function agentText(index: number, body: string): string {
  const description =
    index % 20 === 3
      ? `Checks part ${index}: use when it changed: always`
      : index % 10 === 7
        ? `>-\n  Checks part ${index} of the program,\n  and "quotes" it. Use after changes to it.`
        : `Checks part ${index} of the program. Use it after changes to that part, never for others.`;
  const tools = index % 3 === 0 ? "\n  - Read\n  - Grep\n  - Bash(git:*)" : " Read, Grep, Glob, Bash";
  const head = `---\nname: agent-${index}\ndescription: ${description}\ntools:${tools}\nmodel: sonnet\ncolor: blue\n---\n`;
  return `${head}\n${body}\n\n${`Look at every file of part ${index} and say what is wrong with it, with file and line.\n`.repeat(30)}`;
}
