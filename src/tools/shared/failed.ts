import type { FileFailure, ToolOutput } from "../../ports/index.ts";

/** Reports an expected failure to the model: what is wrong and what to do next. */
export function failed(message: string): ToolOutput {
  return { content: message, isError: true };
}

const cures: Readonly<Record<string, string>> = {
  changed: "It changed in the meantime. Read it again, then repeat the call.",
  moved: "Something moves or links this path while you work. Check it with LS, then repeat the call.",
  ELOOP: "It is a symbolic link now. Use the path it points to.",
  EISDIR: "It is a directory: use LS, or name a file in it.",
  ENOTDIR: "A part of the path is a file, not a directory. Check the path with LS.",
  ENOSPC: "The disk is full. Nothing was changed; tell the user.",
  EROFS: "The file system is read-only. Nothing was changed; tell the user.",
  EACCES: "The user running this may not access it. Choose another path or tell the user.",
  not_a_file: "Only regular files can be used.",
};

export function fileFailed(failure: FileFailure): ToolOutput {
  const cure = cures[failure.code];
  return failed(cure ? `${failure.message}. ${cure}` : failure.message);
}
