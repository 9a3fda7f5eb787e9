import { createTrustStore } from "./index.ts";

// A program that trusts several directories, one after the other, as soon as its input ends.
const [stateHome = "", name = "", count = "0"] = process.argv.slice(2);
process.stdout.write("ready\n");
for await (const _ of process.stdin);
const store = createTrustStore({ stateHome });
for (let index = 0; index < Number(count); index += 1) await store.add(`/${name}/${index}`);
