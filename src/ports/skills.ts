/** What a model may look up: instructions for one kind of work, kept in a directory with the files they speak of. */
export interface Skills {
  /** What a model reads to choose one. The same skills give the same text. */
  list(): string;
  /** By name, with or without a leading `/`. Never rejects. */
  load(name: string): Promise<SkillLoad>;
}

export type SkillLoad =
  | {
      readonly ok: true;
      readonly name: string;
      /** Without its frontmatter. */
      readonly body: string;
      /** Absolute. */
      readonly directory: string;
    }
  /** In words for the model. */
  | { readonly ok: false; readonly message: string };
