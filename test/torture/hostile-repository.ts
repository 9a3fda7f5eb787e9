import { execFileSync } from "node:child_process";
import { appendFileSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/**
 * Turns a directory into a repository with a short history. Its hooks, its attributes and every setting that can name a
 * program refer to `evil`.
 */
export function createHostileRepository(root: string, evil: string): void {
  const git = (args: readonly string[], input = ""): string =>
    execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@example.com", ...args], {
      cwd: root,
      input,
      stdio: ["pipe", "pipe", "ignore"],
    })
      .toString()
      .trim();
  git(["init", "-q", "-b", "main"]);
  git(["add", "f.txt", "g.txt", "sub/h.txt", "package.json", "README.md"]);
  git(["commit", "-q", "-m", "first"]);
  writeFileSync(join(root, "README.md"), "# changed\n");
  git(["commit", "-q", "-a", "-m", "second"]);
  const signed = ["gpgsig -----BEGIN PGP SIGNATURE-----", " ", " iQ==", " -----END PGP SIGNATURE-----"].join("\n");
  const raw = git(["cat-file", "commit", "HEAD"]);
  const commit = git(["hash-object", "-t", "commit", "-w", "--stdin"], raw.replace("\n\n", `\n${signed}\n\n`));
  git(["update-ref", "refs/heads/main", commit]);
  git(["tag", "-a", "-m", "one\n-----BEGIN PGP SIGNATURE-----\n\niQ==\n-----END PGP SIGNATURE-----", "v1"]);
  git(["branch", "other", "HEAD~1"]);
  writeFileSync(join(root, "f.txt"), "stashed\n");
  git(["stash", "-q"]);
  writeFileSync(join(root, "g.txt"), "b 2\nd 5\n");
  const directory = join(root, ".git");
  appendFileSync(join(directory, "config"), settings(evil).map(asLines).join(""));
  mkdirSync(join(directory, "hooks"), { recursive: true });
  for (const hook of hooks) writeFileSync(join(directory, "hooks", hook), `#!/bin/sh\n${evil}\n`, { mode: 0o755 });
  mkdirSync(join(directory, "info"), { recursive: true });
  appendFileSync(join(directory, "info/attributes"), "*.txt diff=conv filter=evil merge=evil\n*.md diff=command\n");
  if (readdirSync(join(directory, "hooks")).length < hooks.length) throw new Error("The hooks were not created.");
}

function settings(evil: string): readonly (readonly [string, string])[] {
  const direct = [
    "core.fsmonitor core.pager core.editor core.askPass core.sshCommand core.alternateRefsCommand sequence.editor",
    "diff.external diff.conv.textconv diff.command.command interactive.diffFilter filter.evil.clean filter.evil.smudge",
    "filter.evil.process merge.evil.driver gpg.program gpg.ssh.program gpg.x509.program gpg.ssh.defaultKeyCommand",
    "uploadpack.packObjectsHook remote.origin.uploadpack remote.origin.receivepack trailer.x.command trailer.x.cmd",
    "tar.evil.command browser.evil.cmd man.evil.cmd difftool.evil.cmd mergetool.evil.cmd credential.helper",
    "pager.log pager.diff pager.show pager.branch pager.tag pager.stash pager.config pager.blame pager.grep pager.status",
  ];
  return [
    ...direct.flatMap((line) => line.split(" ")).map((name) => [name, evil] as const),
    ...["x", "st", "lg", "hist"].map((name) => [`alias.${name}`, `!${evil}`] as const),
    ["remote.origin.url", `ext::${evil}`],
    ["remote.origin.promisor", "true"],
    ["extensions.partialClone", "origin"],
    ["log.showSignature", "true"],
    ["man.viewer", "evil"],
    ["help.browser", "evil"],
    ["web.browser", "evil"],
    ["diff.tool", "evil"],
    ["diff.conv.cachetextconv", "true"],
    ["filter.evil.required", "true"],
    ["pretty.evil", "format:%G? %GS"],
    ["format.pretty", "format:%h %G? %s"],
  ];
}

/** Renders a setting as `git config --add` would, but without starting a process for each one. */
function asLines([name, value]: readonly [string, string]): string {
  const [, section, subsection, key] = /^(\w+)(?:\.(.+))?\.(\w+)$/.exec(name) ?? [];
  const header = subsection === undefined ? section : `${section} "${subsection}"`;
  return `[${header}]\n\t${key} = ${JSON.stringify(value)}\n`;
}

const hooks = [
  "pre-commit post-checkout post-index-change reference-transaction post-rewrite pre-auto-gc fsmonitor-watchman post-merge",
  "pre-push pre-rebase commit-msg prepare-commit-msg post-commit applypatch-msg sendemail-validate update",
].flatMap((line) => line.split(" "));
