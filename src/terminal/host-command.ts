/** A slash command. */
export interface HostCommand {
  readonly name: string;
  /** What the command does, in a few words. */
  readonly about: string;
  /** Set if the command is not shown above its output, because its effect is visible in another way. */
  readonly isQuiet?: true | undefined;
  /** Lists the choices if the user gives no argument. The command then gets the chosen value as its argument. */
  readonly choices?: (() => Promise<readonly HostChoice[]>) | undefined;
  /** Message for the user if there is nothing to choose from. */
  readonly noChoices?: string | undefined;
  /** Carries out the command. Returns text for the user, which may be empty. Rejects with an error for the user. */
  run(argument: string, tools: CommandTools): Promise<string>;
}

export interface HostChoice {
  readonly value: string;
  readonly label: string;
  readonly about?: string | undefined;
  readonly facts?: string | undefined;
  /** Set for the value that is in use. */
  readonly isCurrent?: boolean | undefined;
}

export interface CommandTools {
  /** Maximum width of a command's text in columns. */
  readonly columns: number;
  /** Lets the user edit a file in the editor that VISUAL or EDITOR names. */
  edit(file: string): Promise<void>;
  /** Sends a prompt, as if the user had written it. */
  prompt(text: string): void;
  /** Puts text into the prompt box. */
  write(text: string): void;
}
