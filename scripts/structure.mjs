// Counts patterns that make the code hard for newcomers to follow: `node scripts/structure.mjs [--list]`.
//   files with one importer   product files, except index.ts, that exactly one other product file imports
//   conditional spreads       ...(x ? { x } : {}) and ...(x && { x })
//   repeated type names       names of types that are declared in several files of one module
//   crowded folders           folders that directly contain more than 20 files

import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import ts from "typescript";

const root = resolve(import.meta.dirname, "..");
const paths = readdirSync(join(root, "src"), { recursive: true })
  .map((path) => join("src", path))
  .filter((path) => path.endsWith(".ts") && !/\.test(-support)?\.ts$/.test(path))
  .sort();
const importers = new Map(paths.map((path) => [path, new Set()]));
const declared = new Map();
const spreads = [];
let lines = 0;

for (const path of paths) {
  const text = readFileSync(join(root, path), "utf8");
  lines += text.split("\n").length - 1;
  visit(ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true), path);
}

const lonely = paths.filter((path) => !path.endsWith("/index.ts") && importers.get(path).size === 1);
const repeated = [...declared].filter(([, places]) => places.size > 1);
const folders = groupBy(paths, dirname);
const crowded = [...folders].filter(([, files]) => files.length > 20);
const inAppAndRuns = spreads.filter((place) => /^src\/(app|runs)\//.test(place));

report("lines of product code", lines);
report("files", paths.length);
report("files with one importer", lonely.length, lonely);
report("conditional spreads", spreads.length, spreads);
report("  of these in app and runs", inAppAndRuns.length);
report(
  "type names declared in several files of a module",
  repeated.length,
  repeated.map(([name, places]) => `${name}: ${[...places].join(", ")}`),
);
report(
  "folders with more than 20 files",
  crowded.length,
  crowded.map(([folder, files]) => `${folder} (${files.length})`),
);

function visit(node, path) {
  const specifier = ts.isImportDeclaration(node) || ts.isExportDeclaration(node) ? node.moduleSpecifier : undefined;
  if (specifier) addImport(path, specifier.text);
  if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword)
    addImport(path, node.arguments[0].text);
  if (ts.isSpreadAssignment(node) || ts.isSpreadElement(node)) {
    if (isConditional(node.expression)) {
      const { line } = node.getSourceFile().getLineAndCharacterOfPosition(node.getStart());
      spreads.push(`${path}:${line + 1}`);
    }
  }
  if (ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node) || ts.isClassDeclaration(node)) {
    const key = `${path.split("/")[1]}/${node.name.text}`;
    declared.set(key, (declared.get(key) ?? new Set()).add(path));
  }
  ts.forEachChild(node, (child) => visit(child, path));
}

function addImport(path, specifier) {
  if (!specifier.startsWith(".")) return;
  importers.get(relative(root, resolve(root, dirname(path), specifier)))?.add(path);
}

function isConditional(expression) {
  if (ts.isParenthesizedExpression(expression)) return isConditional(expression.expression);
  if (ts.isBinaryExpression(expression)) return expression.operatorToken.kind === ts.SyntaxKind.AmpersandAmpersandToken;
  return ts.isConditionalExpression(expression) && [expression.whenTrue, expression.whenFalse].some(isEmptyObject);
}

function isEmptyObject(expression) {
  return ts.isObjectLiteralExpression(expression) && expression.properties.length === 0;
}

function groupBy(values, keyOf) {
  const groups = new Map();
  for (const value of values) groups.set(keyOf(value), [...(groups.get(keyOf(value)) ?? []), value]);
  return groups;
}

function report(name, count, places = []) {
  console.log(`${String(count).padStart(6)}  ${name}`);
  if (process.argv.includes("--list")) for (const place of places) console.log(`          ${place}`);
}
