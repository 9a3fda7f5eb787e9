// Loaded before the program by code-cache.mjs: writes the compiled form of each script that has none when the program
// ends, and ends it badly when V8 refuses one that was kept.

import { writeFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import v8 from "node:v8";
import vm from "node:vm";

const made = [];
const { Script } = vm;
vm.Script = class extends Script {
  constructor(source, options) {
    super(source, options);
    if (this.cachedDataRejected) throw new Error(`V8 refuses the compiled form that was kept of ${options.filename}`);
    if (options.cachedData === undefined) made.push({ script: this, file: options.filename });
  }
};
// V8 writes down its flags with what it compiled, and takes it back only under the same.
v8.setFlagsFromString = () => {};
syncBuiltinESMExports();

process.on("exit", () => {
  for (const { script, file } of made) {
    const kept = file.replace(/\.cjs$/, `-${process.versions.v8}-${process.arch}.cache`);
    writeFileSync(kept, script.createCachedData());
  }
});
