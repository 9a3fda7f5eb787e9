// `npm run generate`: writes the files that are generated from others.
//   src/tools/descriptions.ts   the tool descriptions for the model, from src/tools/<name>/<name>.md
//   docs/architecture.md        the module diagram, from layers.cjs
//   docs/reference/*.md         the public interface, from the types of the entry points
//   --check   write nothing; fail if a file is out of date

import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";

const root = resolve(import.meta.dirname, "..");
const targets = {
  "src/tools/descriptions.ts": renderDescriptions,
  "docs/architecture.md": renderArchitecture,
};
const entryPoints = {
  retinue: "src/index.ts",
  "retinue/ai-sdk": "src/ai-sdk/index.ts",
  "retinue/client": "src/client/index.ts",
  "retinue/testing": "src/testing/index.ts",
};
const isCheck = process.argv.includes("--check");

for (const [target, render] of Object.entries(targets)) update(target, render);
if (existsSync(join(root, entryPoints.retinue))) await updateReference();

function update(target, render) {
  const path = join(root, target);
  const current = existsSync(path) ? readFileSync(path, "utf8") : undefined;
  const text = render(current);
  if (current === text) return;
  if (isCheck) {
    fail(`${target} is stale. Run \`npm run generate\` and commit the result.`);
  } else {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
    console.log(`generate: wrote ${target}`);
  }
}

async function updateReference() {
  const { renderReferences } = await import("./reference.mjs");
  const existing = Object.entries(entryPoints).filter(([, file]) => existsSync(join(root, file)));
  const { pages, problems } = renderReferences(root, Object.fromEntries(existing));
  for (const problem of problems) fail(problem);
  for (const [name, page] of Object.entries(pages)) update(`docs/reference/${name.replace("/", "-")}.md`, () => page);
}

function fail(problem) {
  console.error(`generate: ${problem}`);
  process.exitCode = 1;
}

function renderDescriptions() {
  const tools = join(root, "src/tools");
  if (!existsSync(tools)) return undefined;
  const lines = [];
  for (const { name } of readdirSync(tools, { withFileTypes: true }).filter((entry) => entry.isDirectory())) {
    for (const file of readdirSync(join(tools, name)).filter((each) => each.endsWith(".md"))) {
      const text = readFileSync(join(tools, name, file), "utf8")
        .replaceAll("\r\n", "\n")
        .trimEnd();
      if (file !== `${name}.md`) fail(`src/tools/${name}/${file}: rename this tool description to ${name}.md`);
      if (text === "") fail(`src/tools/${name}/${file} is empty`);
      lines.push(`  ${camelCase(name)}: ${JSON.stringify(text)},`);
    }
  }
  return [
    "// Generated from src/tools/*/*.md by scripts/generate.mjs. Change the .md and run `npm run generate`.",
    "export const descriptions = {",
    ...lines.sort(),
    "} as const;",
    "",
  ].join("\n");
}

function camelCase(name) {
  return name.replace(/-+(.)/g, (_, letter) => letter.toUpperCase());
}

/** Replaces the first Mermaid block on the page. */
function renderArchitecture(page) {
  if (page === undefined) return undefined;
  const { modules } = createRequire(import.meta.url)("../layers.cjs");
  return page.replace(/```mermaid\n[\s\S]*?```/, `\`\`\`mermaid\n${renderDiagram(modules)}\`\`\``);
}

/**
 * Draws an arrow from each module to the modules it imports, unless a longer path also leads there or every module may
 * import the target.
 */
function renderDiagram(modules) {
  const importsOf = (name) => modules[name].modules.filter((each) => !["protocol", "ports", "lib"].includes(each));
  const reaches = (from, to) => importsOf(from).some((each) => each === to || reaches(each, to));
  const arrows = Object.keys(modules).flatMap((name) => {
    const direct = importsOf(name).filter((to) => !importsOf(name).some((other) => other !== to && reaches(other, to)));
    return direct.map((to) => `  ${name} --> ${to}\n`);
  });
  return `flowchart TD\n${arrows.join("")}`;
}
