/** Commands of the `serve` entry point. */
export const servingCommands = ["serve", "worker"] as const;
export type ServingCommand = (typeof servingCommands)[number];
