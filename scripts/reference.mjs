// Renders the reference for an entry point of the package: the declarations of all names that it exports, and of the
// other types that these use. The pages are also the record of the public interface: they show what a commit changes.

import { join, relative } from "node:path";
import ts from "typescript";

/** Returns the pages of several entry points, by their names. `problems` lists exported names without a doc comment. */
export function renderReferences(root, entryPoints) {
  const { config } = ts.readConfigFile(join(root, "tsconfig.json"), ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent({ ...config, include: [] }, ts.sys, root);
  const rootNames = Object.values(entryPoints).map((file) => join(root, file));
  const program = ts.createProgram({ rootNames, options, host: ownFiles(options) });
  const problems = [];
  const pages = Object.entries(entryPoints).map(([name, file]) => {
    const { exported, others } = collect(program, { file: join(root, file), source: join(root, "src") });
    for (const { symbol, node } of exported)
      if (ts.getJSDocCommentsAndTags(owner(node)).length === 0)
        problems.push(`${relative(root, node.getSourceFile().fileName)}: ${symbol} has no doc comment`);
    return [name, renderPage(name, { exported, others, checker: program.getTypeChecker() })];
  });
  return { pages: Object.fromEntries(pages), problems };
}

/**
 * Reads only files that are reached through relative imports: the types of packages and of Node are not part of the
 * pages, and parsing them takes longer than everything else.
 */
function ownFiles(options) {
  const host = ts.createCompilerHost(options);
  const resolve = (name, from) =>
    name.startsWith(".") ? ts.resolveModuleName(name, from, options, host).resolvedModule : undefined;
  host.resolveModuleNames = (names, from) => names.map((name) => resolve(name, from));
  host.resolveTypeReferenceDirectives = (names) => names.map(() => undefined);
  return host;
}

/** Finds the declarations of the exported names, and those of the types in `source` that they use. */
function collect(program, { file, source }) {
  const checker = program.getTypeChecker();
  const original = (symbol) => (symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol);
  const seen = new Set();
  const declarationsOf = (symbol, name) => {
    if (seen.has(original(symbol))) return [];
    seen.add(original(symbol));
    const nodes = original(symbol).declarations ?? [];
    return nodes.filter((node) => isOwn(node, source)).map((node) => ({ symbol: name, node }));
  };
  const entry = checker.getSymbolAtLocation(program.getSourceFile(file));
  const exported = checker.getExportsOfModule(entry).flatMap((symbol) => declarationsOf(symbol, symbol.name));
  const others = [];
  const follow = (node) => {
    if (ts.isBlock(node) || isPrivate(node)) return;
    const name = nameOfType(node);
    const symbol = name && checker.getSymbolAtLocation(name);
    if (symbol) {
      const found = declarationsOf(symbol, original(symbol).name);
      others.push(...found);
      for (const each of found) follow(each.node);
    }
    if (!ts.isVariableDeclaration(node)) ts.forEachChild(node, follow);
    else if (node.type) follow(node.type);
  };
  for (const { node } of exported) follow(node);
  return { exported: sorted(exported), others: sorted(others) };
}

function isOwn(node, source) {
  return !ts.isTypeParameterDeclaration(node) && !relative(source, node.getSourceFile().fileName).startsWith("..");
}

/** Returns the type name in a node that refers to a type. */
function nameOfType(node) {
  if (ts.isTypeReferenceNode(node)) return node.typeName;
  if (ts.isTypeQueryNode(node)) return node.exprName;
  return ts.isExpressionWithTypeArguments(node) ? node.expression : undefined;
}

function sorted(declarations) {
  return declarations.sort((left, right) => Number(left.symbol > right.symbol) - Number(left.symbol < right.symbol));
}

function renderPage(name, { exported, others, checker }) {
  const block = (list) => `\`\`\`ts\n${list.map((each) => declaration(each, checker)).join("\n\n")}\n\`\`\`\n`;
  return [
    `# Reference for \`${name}\`
    `,
    "Generated from the types by `npm run generate`.\n",
    "## Exports\n",
    block(exported),
    ...(others.length > 0 ? ["## Types that the exports use\n", block(others)] : []),
  ].join("\n");
}

/** Returns the statement that contains a declaration. The doc comment is attached to the statement. */
function owner(node) {
  return ts.isVariableDeclaration(node) ? node.parent.parent : node;
}

/** Returns a declaration with its doc comments and without code. */
function declaration({ symbol, node }, checker) {
  const comments = ts.getJSDocCommentsAndTags(owner(node)).map((each) => `${each.getText()}\n`);
  const renamed = node.name.text === symbol ? "" : `// Exported as ${symbol}.\n`;
  return `${comments.join("")}${renamed}${text(node, checker).replace(/^export /, "")}`;
}

function text(node, checker) {
  if (ts.isFunctionDeclaration(node)) return withoutBody(node, node.body);
  if (ts.isClassDeclaration(node)) return classText(node);
  if (!ts.isVariableDeclaration(node)) return node.getText();
  // The value of a constant, such as the version, is not part of the interface. Only its type is.
  const type = checker.getBaseTypeOfLiteralType(checker.getTypeAtLocation(node));
  const format = ts.TypeFormatFlags.NoTruncation | ts.TypeFormatFlags.UseAliasDefinedOutsideCurrentScope;
  return `const ${node.name.text}: ${node.type?.getText() ?? checker.typeToString(type, node, format)};`;
}

function withoutBody(node, body) {
  return body === undefined
    ? node.getText()
    : `${node
        .getText()
        .slice(0, body.getStart() - node.getStart())
        .trimEnd()};`;
}

function classText(node) {
  const head = node.getText().slice(0, node.members.pos - node.getStart());
  const members = node.members.filter((member) => !isPrivate(member));
  return `${head}\n${members.map((member) => `  ${withoutBody(member, member.body)}`).join("\n")}\n}`;
}

function isPrivate({ modifiers, name }) {
  const hasKeyword = modifiers?.some(({ kind }) => kind === ts.SyntaxKind.PrivateKeyword);
  return hasKeyword || (name !== undefined && ts.isPrivateIdentifier(name));
}
