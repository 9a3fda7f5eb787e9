import { userInfo } from "node:os";
import { isAbsolute } from "node:path";
import { UserError } from "../errors.ts";

/**
 * Returns the user's home directory: `HOME`, or the directory of the user's account if `HOME` is not an absolute path.
 * With a relative path, files of the current directory could be taken for the user's own settings.
 */
export function homeDirectory(environment: Readonly<Record<string, string | undefined>> = process.env): string {
  const { HOME = "" } = environment;
  if (isAbsolute(HOME)) return HOME;
  const { homedir } = accountInfo();
  if (isAbsolute(homedir)) return homedir;
  throw new UserError("The home directory is unknown", {
    code: "home_unknown",
    fix: "Set HOME to an absolute path.",
    exitCode: 2,
  });
}

/** Returns an empty path for a user without an account, which is common in containers. */
function accountInfo(): { readonly homedir: string } {
  try {
    return userInfo();
  } catch {
    return { homedir: "" };
  }
}
