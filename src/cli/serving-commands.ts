/** Commands of the `serve` entry point. */
export const servingCommands = ["worker"] as const;
export type ServingCommand = (typeof servingCommands)[number];
