import type { NewCommand, SessionView } from "../client/index.ts";
import type { AgentId, Receipt } from "../protocol/index.ts";
import type { TerminalHost } from "./host.ts";
import type { Key } from "./screen/keys.ts";
import type { Row, Style } from "./screen/row.ts";
import type { Position } from "./screen/screen.ts";

/** State and functions that the parts of the terminal share. */
export interface App {
  readonly view: SessionView;
  /** Undefined until the session is open. */
  readonly host: TerminalHost | undefined;
  /** The user's name. */
  readonly user: string;
  /** Width of the terminal. */
  readonly columns: number;
  /** Whether everything is shown as plain sentences, for screen readers. */
  readonly isPlain: boolean;
  /** Returns the current time in milliseconds since 1970. */
  now(): number;
  /** Schedules a redraw of the screen. */
  redraw(): void;
  /** Prints a message for the user in the conversation. */
  say(message: string, style?: Style): void;
  /** Prints rows in the conversation. */
  print(rows: readonly Row[]): void;
  /** Sends a command. If it is refused, shows why. */
  send(command: NewCommand): Promise<Receipt | undefined>;
  /** Keeps an agent's whole conversation in the view, from its first line, until `unwatch`. Never rejects. */
  watch(agentId: AgentId): Promise<void>;
  unwatch(agentId: AgentId): void;
  /** Lets the user edit text in another program. Returns the edited text. Never rejects. */
  editText(text: string, name: string): Promise<string>;
  /** Inserts text into the prompt box. */
  type(text: string): void;
  /** Shows the request that is waiting for an answer. Returns false if there is none. */
  showRequest(): boolean;
  /** Returns the line that says which request is waiting for an answer. */
  requestRows(columns: number): readonly Row[];
  /** Puts a layer on top of the others. It receives all keypresses until it is closed. */
  open(layer: Layer): void;
  close(layer: Layer): void;
}

export interface Space {
  readonly columns: number;
  /** Maximum number of rows. */
  readonly rows: number;
  /** Whether rows may be cut, because the terminal is being resized. */
  readonly isCut?: boolean | undefined;
}

export interface Drawing {
  readonly rows: readonly Row[];
  readonly cursor?: Position | undefined;
}

/**
 * A part of the screen that temporarily receives all keypresses: a list to choose from, a request for approval, a
 * transcript.
 */
export interface Layer {
  draw(space: Space): Drawing;
  /** Handles a key. Returns false if the key has no meaning here. */
  key(key: Key): boolean;
  /** Key hints, most important first. */
  readonly keys: readonly string[];
  /** What the user has typed and not confirmed yet. It is shown in the prompt box. */
  readonly typed?: string | undefined;
  /** Whether the layer fills the screen. */
  readonly isFull?: boolean | undefined;
  /** Whether the layer shows the tree of agents itself. */
  readonly hasAgents?: boolean | undefined;
}
