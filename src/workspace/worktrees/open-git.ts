import { UserError } from "../../lib/index.ts";
import { askGit, type GitAnswer, type GitCall, type GitPlace, type GitSetting, runGit } from "./git.ts";

export interface Git {
  readonly place: GitPlace;
  /** Filter programs that are configured here, all of them switched off. */
  readonly filters: readonly string[];
  /** Throws a `UserError` where git fails. */
  run(args: readonly string[], call?: GitCall): Promise<Buffer>;
  /** For calls that may fail. */
  ask(args: readonly string[], call?: GitCall): Promise<GitAnswer>;
}

/**
 * Git for one working tree, without its filter programs (`filter.NAME.smudge`, as of git-lfs). Which there are is asked
 * in the same place as they would count: a configuration may hold for one branch or directory only.
 */
export async function openGit(place: GitPlace): Promise<Git> {
  const { code, output, told } = await askGit(["config", "-z", "--name-only", "--get-regexp", "^filter\\."], place);
  // 1: there are none. Whoever can't be asked could have some.
  if (code !== 0 && code !== 1) throw new UserError(`The git configuration can't be read: ${told}`, { code: "git" });
  const keys = output.toString("utf8");
  // Its name could not be given to git again, so it could not be switched off.
  if (!Buffer.from(keys).equals(output))
    throw new UserError("A git filter has a name that is not UTF-8", { code: "git" });
  const filters = new Set(keys.split("\0").flatMap((key) => /^filter\.(.+)\.[^.]+$/s.exec(key)?.[1] ?? []));
  const settings = [...filters].flatMap((name): GitSetting[] => [
    [`filter.${name}.smudge`, ""],
    [`filter.${name}.clean`, ""],
    [`filter.${name}.process`, ""],
    [`filter.${name}.required`, "false"],
  ]);
  return {
    place,
    filters: [...filters],
    run: (args, call = {}) => runGit(args, place, { ...call, settings }),
    ask: (args, call = {}) => askGit(args, place, { ...call, settings }),
  };
}
