import { canonicalToolName, type JsonObject } from "../protocol/index.ts";

export type CallText =
  | { readonly ok: true; readonly tool: string; readonly input: JsonObject }
  | { readonly ok: false; readonly message: string; readonly cure: string };

/** A call as a person writes it: `Bash(git push)`, `Read(src/a.ts)`, `Task(Explore)`, `Edit({"file_path": "a.ts"})`. */
export function readCallText(text: string): CallText {
  const [, name, body] = /^\s*([\p{L}\p{N}_.\-:]+)\s*(?:\(([\s\S]*)\))?\s*$/u.exec(text) ?? [];
  if (name === undefined) {
    const cure = "Write a tool and what it is to do: 'Bash(git push)'.";
    return { ok: false, message: `${JSON.stringify(text)} is not a call`, cure };
  }
  const tool = canonicalToolName(name);
  const given = body?.trim() ?? "";
  if (given.startsWith("{")) return readJson(tool, given);
  return { ok: true, tool, input: inputs[tool]?.(given) ?? {} };
}

function readJson(tool: string, text: string): CallText {
  try {
    return { ok: true, tool, input: JSON.parse(text) as JsonObject };
  } catch (error) {
    const message = `The input of ${tool} is not JSON: ${error instanceof Error ? error.message : String(error)}`;
    return { ok: false, message, cure: 'Write it as {"key": "value"}, or without braces in short.' };
  }
}

/** What stands in the parentheses, in the words of the tool. */
const inputs: Readonly<Record<string, (text: string) => JsonObject>> = {
  Bash: (command) => ({ command }),
  Read: (file_path) => ({ file_path }),
  Write: (file_path) => ({ file_path, content: "" }),
  Edit: (file_path) => ({ file_path, old_string: "", new_string: "" }),
  NotebookEdit: (notebook_path) => ({ notebook_path }),
  LS: (path) => (path === "" ? {} : { path }),
  Grep: (path) => ({ pattern: "", ...(path === "" ? {} : { path }) }),
  Glob: (pattern) => ({ pattern }),
  WebFetch: (url) => ({ url: url.startsWith("domain:") ? `https://${url.slice(7)}/` : url }),
  Task: (subagent_type) => ({ prompt: "…", ...(subagent_type === "" ? {} : { subagent_type }) }),
  Skill: (skill) => ({ skill }),
};
