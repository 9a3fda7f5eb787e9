// Prepares a release: checks, version, changelog, commit and tag. Does not push or publish anything.
//   node scripts/release.mjs VERSION             VERSION is a number such as 0.2.0, or patch, minor or major
//   node scripts/release.mjs VERSION --dry-run   runs the checks and tests only, and changes nothing

import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

const root = resolve(import.meta.dirname, "..");
const options = process.argv.slice(2);
const dryRun = options.includes("--dry-run");
const [requested, ...more] = options.filter((option) => option !== "--dry-run");

try {
  release();
} catch (error) {
  console.error(`release: ${error.message}`);
  process.exit(1);
}

function release() {
  if (requested === undefined || more.length > 0 || requested.startsWith("-")) {
    throw new Error("Usage: node scripts/release.mjs VERSION|patch|minor|major [--dry-run]");
  }
  const version = nextVersion(JSON.parse(read("package.json")).version, requested);
  const tag = `v${version}`;
  checkRepository(tag);
  const changelog = datedChangelog(read("CHANGELOG.md"), version);
  run("npm", ["test"]);
  if (dryRun) {
    console.log(`Everything is ready for ${tag}. Nothing was changed.`);
    return;
  }
  write("CHANGELOG.md", changelog);
  write("src/app/version.ts", read("src/app/version.ts").replace(/VERSION = ".*"/, `VERSION = "${version}"`));
  // Changes package.json and package-lock.json.
  run("npm", ["version", version, "--no-git-tag-version", "--allow-same-version", "--ignore-scripts"]);
  run("git", ["commit", "--quiet", "--all", "--message", `chore: release ${version}`]);
  run("git", ["tag", "--annotate", tag, "--message", `Retinue ${version}`]);
  console.log(`Committed and tagged ${tag}. Review the commit, then run:
  node scripts/try-package.mjs 20 22 24
  git push --follow-tags
  npm publish`);
}

function nextVersion(current, wanted) {
  const parts = current.split(".").map(Number);
  const [major, minor, patch] = parts;
  const steps = { major: [major + 1, 0, 0], minor: [major, minor + 1, 0], patch: [major, minor, patch + 1] };
  const next = steps[wanted]?.join(".") ?? wanted;
  if (!/^\d+\.\d+\.\d+$/.test(next)) throw new Error(`"${wanted}" is not a version. Use a number such as 1.2.3.`);
  // The current version itself can be released once: its tag must not exist.
  if (compare(next.split(".").map(Number), parts) < 0)
    throw new Error(`${next} is lower than the current version ${current}.`);
  return next;
}

function compare(left, right) {
  return left.map((part, at) => part - right[at]).find((difference) => difference !== 0) ?? 0;
}

function checkRepository(tag) {
  const changed = git("status", "--porcelain");
  if (changed !== "") throw new Error(`There are uncommitted changes. Commit or remove them:\n${changed}`);
  if (git("branch", "--show-current") === "") throw new Error("No branch is checked out. Check out the main branch.");
  if (git("tag", "--list", tag) !== "") throw new Error(`The tag ${tag} already exists.`);
}

/**
 * Gives the section "Unreleased", or the one that already has the version as its name, the version and date as its name,
 * and adds a new, empty section "Unreleased" above it.
 */
function datedChangelog(text, version) {
  const [before, section = ""] = text.split(new RegExp(`^## (?:Unreleased|${version.replaceAll(".", "\\.")})\n`, "m"));
  const [changes = ""] = section.split(/^## /m);
  if (changes.trim() === "") throw new Error('CHANGELOG.md has no changes below "## Unreleased". Describe them first.');
  const date = new Date().toISOString().slice(0, 10);
  return `${before}## Unreleased\n\n## ${version} (${date})\n${section}`;
}

function git(...words) {
  return execFileSync("git", words, { cwd: root, encoding: "utf8" }).trim();
}

function run(file, words) {
  try {
    execFileSync(file, words, { cwd: root, stdio: "inherit" });
  } catch {
    throw new Error(`"${[file, ...words].join(" ")}" failed. Fix the problem, then try again.`);
  }
}

function read(name) {
  return readFileSync(join(root, name), "utf8");
}

function write(name, text) {
  writeFileSync(join(root, name), text);
}
