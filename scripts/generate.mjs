// Writes src/tools/descriptions.ts from src/tools/<name>/<name>.md, what each tool tells the model about itself.
//   --check   write nothing; fail when the file is not what would be written

import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

const root = resolve(import.meta.dirname, "..");
const tools = join(root, "src/tools");
const target = join(tools, "descriptions.ts");

process.exit(main(process.argv.includes("--check")));

function main(check) {
  if (!existsSync(tools)) return 0;
  const { descriptions, problems } = readDescriptions();
  if (problems.length > 0) {
    for (const problem of problems) console.error(`generate: ${problem}`);
    return 1;
  }
  const text = render(descriptions);
  const current = existsSync(target) ? readFileSync(target, "utf8") : undefined;
  if (current === text || (current === undefined && descriptions.length === 0)) return 0;
  if (check) {
    console.error("generate: src/tools/descriptions.ts is stale. Run `npm run generate` and commit the result.");
    return 1;
  }
  writeFileSync(target, text);
  console.log(`generate: wrote src/tools/descriptions.ts (${descriptions.length} tools)`);
  return 0;
}

function readDescriptions() {
  const descriptions = [];
  const problems = [];
  const folders = readdirSync(tools, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  for (const { name } of folders) {
    for (const file of readdirSync(join(tools, name)).filter((each) => each.endsWith(".md"))) {
      if (file !== `${name}.md`) problems.push(`src/tools/${name}/${file}: a tool's description is named ${name}.md`);
      else descriptions.push([camelCase(name), readDescription(join(tools, name, file))]);
    }
  }
  for (const [key, text] of descriptions) if (text === "") problems.push(`the description of ${key} is empty`);
  descriptions.sort(([a], [b]) => (a < b ? -1 : 1));
  return { descriptions, problems };
}

function readDescription(path) {
  return readFileSync(path, "utf8").replaceAll("\r\n", "\n").trimEnd();
}

function camelCase(name) {
  return name.replace(/-+(.)/g, (_, letter) => letter.toUpperCase());
}

function render(descriptions) {
  const lines = descriptions.map(([key, text]) => `  ${key}: ${JSON.stringify(text)},`);
  return [
    "// Generated from src/tools/*/*.md by scripts/generate.mjs. Change the .md and run `npm run generate`.",
    "export const descriptions = {",
    ...lines,
    "} as const;",
    "",
  ].join("\n");
}
