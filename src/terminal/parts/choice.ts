export interface Choice<Value> {
  readonly label: string;
  /** Shown after the label. */
  readonly about?: string | undefined;
  /** Shown at the right edge. */
  readonly facts?: string | undefined;
  /** Set for the value that is in use. It is marked, and selected first. */
  readonly isCurrent?: boolean | undefined;
  /** Key that chooses the item immediately. */
  readonly hotkey?: string | undefined;
  readonly value: Value;
}

export interface PickerOptions<Value> {
  readonly title: string;
  readonly choices: readonly Choice<Value>[];
  /** Returns text about the selected choice, which is shown in full below the list; may be empty or several lines. */
  readonly detail?: ((value: Value) => string) | undefined;
  readonly onChoose: (value: Value) => void;
  readonly onCancel?: (() => void) | undefined;
  /**
   * Called with text that is not one of the list's keys. The list is then closed. By default, the text goes to the
   * prompt box.
   */
  readonly onType?: ((text: string) => void) | undefined;
}
