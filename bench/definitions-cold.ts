import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { loadSnapshot } from "../src/definitions/index.ts";

// Arguments: PROJECT HOME. Prints how long it takes to read the project's agent files, and to load a snapshot of them.
const [cwd = "", home = ""] = process.argv.slice(2);
const agents = join(cwd, ".claude", "agents");
const before = performance.now();
const read = readdirSync(agents).map((name) => readFileSync(join(agents, name)));
const baseline = performance.now() - before;
const startedAt = performance.now();
const snapshot = await loadSnapshot({ cwd, home, stateHome: join(home, ".retinue"), trusted: true });
const ours = performance.now() - startedAt;
console.log(JSON.stringify({ baseline, ours, read: read.length, loaded: snapshot.agents.length }));
