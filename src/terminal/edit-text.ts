import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describeError } from "../lib/index.ts";

export interface EditedText {
  readonly text: string;
  /** Name of the file in which the text is edited. */
  readonly name: string;
  /** Lets the user edit a file in another program. */
  readonly edit: (file: string) => Promise<void>;
}

/** Lets the user edit text in another program. Never rejects. */
export async function editText({
  text,
  name,
  edit,
}: EditedText): Promise<{ readonly text: string } | { readonly problem: string }> {
  try {
    const directory = await mkdtemp(join(tmpdir(), "retinue-"));
    try {
      const file = join(directory, name);
      await writeFile(file, text, { mode: 0o600 });
      await edit(file);
      return { text: await readFile(file, "utf8") };
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  } catch (error) {
    return { problem: describeError(error) };
  }
}
