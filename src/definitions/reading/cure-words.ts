/** How a definition is written down, so that a cure can be followed where it stands. */
export interface CureWords {
  readonly form: "yaml" | "json";
  /** What one field is there. */
  readonly line: "line" | "key";
  /** A field as it is to be written. */
  entry(key: string, value: string | boolean | readonly string[]): string;
}

export const yamlWords: CureWords = {
  form: "yaml",
  line: "line",
  entry: (key, value) => `"${key}: ${typeof value === "object" ? value.join(", ") || "[]" : value}"`,
};

export const jsonWords: CureWords = {
  form: "json",
  line: "key",
  entry: (key, value) => `${JSON.stringify(key)}: ${JSON.stringify(value)}`,
};
