/** Skills that a model can load: instructions for one kind of work, in a directory with the files they refer to. */
export interface Skills {
  /** Returns the list from which a model chooses. The same skills give the same text. */
  list(): string;
  /** Loads a skill by name, with or without a leading `/`. Never rejects. */
  load(name: string): Promise<SkillLoad>;
}

export type SkillLoad =
  | {
      readonly ok: true;
      readonly name: string;
      /** Text without the frontmatter. */
      readonly body: string;
      /** Absolute path of the skill's directory. */
      readonly directory: string;
    }
  /** The message goes to the model. */
  | { readonly ok: false; readonly message: string };
