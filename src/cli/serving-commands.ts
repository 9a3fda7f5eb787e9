/** Commands of the `serve` entry point. */
export const servingCommands = ["serve"] as const;
export type ServingCommand = (typeof servingCommands)[number];
