/** What the commands about plugins need. Loaded when asked for: a session itself needs none of it. */
export function pluginCommands(): Promise<typeof import("./plugins.ts")> {
  return import("./plugins.ts");
}
