// Node's own modules cost start-up time twice in an ES module: each import makes a copy of all exports (which loads
// what node:fs would load only on demand), and heavy ones are loaded before anybody calls them. In the bundle they are
// taken by process.getBuiltinModule instead, and the functions of heavy ones load their module at the first call.

import { isBuiltin } from "node:module";

// A CommonJS package that is one function: made when it is first called.
const oneFunction = ["picomatch"];

// Loaded by Node itself before any program runs: taken at once, without a wrapper around each call.
const present = new Set([
  "node:buffer",
  "node:events",
  "node:fs",
  "node:path",
  "node:process",
  "node:url",
  "node:util",
]);

export function leanBuiltins() {
  return {
    name: "lean-builtins",
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /^[a-z]/ }, ({ kind, path: asked, importer }) => {
        if (!isBuiltin(asked)) return undefined;
        const path = asked.startsWith("node:") ? asked : `node:${asked}`;
        // One module per importer, so that a class one lazy file wants is not taken where only a function is called.
        const own = `${path}?${importer}`;
        if (kind === "import-statement") return { path: own, namespace: "lean-import", sideEffects: false };
        if (kind === "require-call") return { path, namespace: "lean-require" };
        return undefined;
      });
      onResolve({ filter: new RegExp(`^(${oneFunction.join("|")})$`) }, ({ kind, path, resolveDir, namespace }) => {
        if (kind !== "import-statement" || namespace === "lean-package") return undefined;
        return { path, namespace: "lean-package", pluginData: resolveDir };
      });
      onLoad({ filter: /.*/, namespace: "lean-package" }, ({ path, pluginData }) => ({
        contents: `let made; export default (...given) => { made ??= require("${path}"); return made(...given); };`,
        resolveDir: pluginData,
      }));
      onLoad({ filter: /.*/, namespace: "lean-import" }, ({ path }) => ({
        contents: asModule(path.slice(0, path.indexOf("?"))),
      }));
      onLoad({ filter: /.*/, namespace: "lean-require" }, ({ path }) => ({
        contents: `module.exports = new Proxy({}, { get: (_, name) => process.getBuiltinModule("${path}")[name] });`,
      }));
    },
  };
}

function asModule(path) {
  const exported = process.getBuiltinModule(path);
  const names = Object.keys(exported).filter((name) => /^[A-Za-z_$][\w$]*$/.test(name) && name !== "default");
  const lines = [`const load = () => process.getBuiltinModule("${path}");`, "const take = (name) => load()[name];"];
  for (const name of names) {
    // Local names of their own, because some exports (delete, constants) are words a module can't declare.
    const local = `_${name}`;
    if (!present.has(path) && isPlainFunction(exported, name)) {
      lines.push(`function ${local}(...given) { return load().${name}(...given); }`);
    } else {
      lines.push(`const ${local} = /* @__PURE__ */ take("${name}");`);
    }
    lines.push(`export { ${local} as ${name} };`);
  }
  lines.push("export default /* @__PURE__ */ load();");
  return lines.join("\n");
}

// Classes are called with new and compared by identity; functions with properties of their own carry more than a call.
function isPlainFunction(exported, name) {
  const value = exported[name];
  return (
    typeof value === "function" &&
    /^[a-z]/.test(name) &&
    Reflect.ownKeys(value).every((key) => ["length", "name", "prototype"].includes(key))
  );
}
