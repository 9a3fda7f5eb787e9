import { addPlugin, enablePlugin } from "./plugins.ts";

// A program that adds and enables plugins, one after the other, as soon as its input ends.
const [home = "", ...directories] = process.argv.slice(2);
process.stdout.write("ready\n");
for await (const _ of process.stdin);
for (const directory of directories) {
  const { plugin } = await addPlugin(directory, { home, environment: {} });
  await enablePlugin(home, { name: plugin.name, hash: plugin.hash });
}
