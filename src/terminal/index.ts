// Owns: the terminal interface, including drawing a session's view, reading keys, and what the keys do. Does not own:
// the state of a session and the words for it (client), or how a session is opened and reached (cli). Called by: cli,
// which loads it as a separate bundle when `retinue` is started in a terminal.
export type {
  HostModel,
  OwnServerFacts,
  SessionFacts,
  ShellOutput,
  StatusFacts,
  StatusOutput,
  TerminalHost,
} from "./host.ts";
export type { HostCommand } from "./host-command.ts";
export type { ListedSession, OpenRequest, TerminalProgram, Untrusted } from "./program.ts";
export { runTerminal, type TerminalOptions } from "./run-terminal.ts";
export type { TerminalInput } from "./screen/open-input.ts";
