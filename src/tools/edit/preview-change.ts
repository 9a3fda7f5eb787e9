import { canonicalToolName, type JsonObject } from "../../protocol/index.ts";
import { describeChange } from "../shared/describe-change.ts";
import { applyEdit } from "./apply-edit.ts";

/**
 * Returns the whole unified diff that an Edit or Write call would report. `before` is the content of the file;
 * undefined if there is none. Returns undefined for other calls, for calls that would fail, and for a diff that is too
 * long.
 */
export async function previewChange(
  { name, input }: { readonly name: string; readonly input: JsonObject },
  before: string | undefined,
): Promise<string | undefined> {
  const { file_path, old_string, new_string, content, replace_all } = input;
  const tool = canonicalToolName(name);
  let after: string | undefined;
  if (tool === "Write" && typeof content === "string") after = content;
  if (tool === "Edit" && before !== undefined && typeof old_string === "string" && typeof new_string === "string") {
    const edit = { oldString: old_string, newString: new_string, replaceAll: replace_all === true };
    const edited = old_string === "" ? undefined : applyEdit(before, edit);
    if (edited?.kind === "edited") after = edited.text;
  }
  if (after === undefined) return undefined;
  const { diff, cut } = await describeChange({ name: String(file_path), before: before ?? "", after });
  return typeof diff === "string" && cut !== true ? diff : undefined;
}
