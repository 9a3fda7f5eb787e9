import type { FileFailure, ToolOutput } from "../../ports/index.ts";

/** Reports an expected failure to the model: what is wrong and what to do next. */
export function failed(message: string): ToolOutput {
  return { content: message, isError: true };
}

const fixes: Readonly<Record<string, string>> = {
  changed: "Read it again, then repeat the call.",
  moved: "Check the path with LS, then repeat the call.",
  ELOOP: "Use the path that it points to.",
  EISDIR: "List it with LS, or pass the path of a file.",
  ENOTDIR: "Check the path with LS.",
  ENOSPC: "Nothing was changed. Tell the user.",
  EROFS: "Nothing was changed. Tell the user.",
  EACCES: "Choose another path, or tell the user.",
  not_a_file: "Only regular files are supported.",
};

export function fileFailed(failure: FileFailure): ToolOutput {
  const fix = fixes[failure.code];
  return failed(fix ? `${failure.message}. ${fix}` : failure.message);
}
