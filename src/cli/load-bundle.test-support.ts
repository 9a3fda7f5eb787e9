// Usage: node load-bundle BUNDLE STATE [keep | keep-with-flag]. Loads a bundle as the program does, optionally stores
// its compiled code, and prints its code cache and its exports.

import { setFlagsFromString } from "node:v8";
import { loadCompiled } from "./code-cache.ts";

const [bundle = "", state = "", command] = process.argv.slice(2);
const { exports, codeCache } = loadCompiled(bundle, state);
if (command === "keep-with-flag") setFlagsFromString("--stack-size=900");
if (command !== undefined) codeCache.keep();
process.stdout.write(JSON.stringify({ ...codeCache, exports }));
