// Loaded before the program by code-cache.mjs: remembers each script it makes and writes its compiled form at the end.

import { writeFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import vm from "node:vm";

const made = [];
const { Script } = vm;
vm.Script = class extends Script {
  constructor(source, options) {
    super(source, options);
    made.push({ script: this, file: options.filename });
  }
};
syncBuiltinESMExports();

process.on("exit", () => {
  for (const { script, file } of made) {
    const kept = file.replace(/\.cjs$/, `-${process.versions.v8}-${process.arch}.cache`);
    writeFileSync(kept, script.createCachedData());
  }
});
