import { mkdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describeError, errorCode, UserError, withFileLock, writeAtomically } from "../../lib/index.ts";
import type { JsonObject, JsonValue } from "../../protocol/index.ts";
import { createTrustStore } from "../../settings/index.ts";
import type { TrustPlace } from "../commands/trust.ts";
import { loadProjectSettings } from "./project-settings.ts";

const NAME = ".retinue/settings.local.json";

/** Allows what a rule covers in later sessions of a directory. Answers with what a person should know. Never rejects. */
export async function keepRule(rule: string, place: TrustPlace): Promise<string> {
  const file = join(place.cwd, NAME);
  try {
    mkdirSync(dirname(file), { recursive: true });
    return await withFileLock(file, () => addRule(rule, { ...place, file }));
  } catch (error) {
    return `${rule} counts in this session and could not be kept in ${file}: ${describeError(error)}`;
  }
}

/** Who says "always" has seen the rule: if the rest of the file was approved, it stays so with the rule. */
async function addRule(rule: string, { file, ...place }: TrustPlace & { readonly file: string }): Promise<string> {
  const { home, cwd } = place;
  const store = createTrustStore({ stateHome: home });
  const approved = store.approvedHash(cwd, { kind: "permissions", name: NAME });
  const wasApproved = store.coveredBy(cwd) === cwd && approvalNow(place)?.hash === approved;
  const settings = readStrictly(file);
  const permissions = mappingIn(settings["permissions"]);
  const allow = Array.isArray(permissions["allow"]) ? permissions["allow"] : [];
  if (allow.includes(rule)) return `${rule} stands in ${file} already.`;
  const changed = { ...settings, permissions: { ...permissions, allow: [...allow, rule] } };
  await writeAtomically(file, `${JSON.stringify(changed, null, 2)}\n`, { mode: 0o644 });
  const approval = wasApproved ? approvalNow(place) : undefined;
  if (approval === undefined)
    return `${rule} stands in ${file} now, and counts there after "retinue trust add ${cwd}".`;
  await store.approve(cwd, approval);
  return `${rule} stands in ${file} now.`;
}

function approvalNow(place: TrustPlace) {
  const { approvals } = loadProjectSettings({ ...place, trust: true });
  return approvals.find(({ kind, name }) => kind === "permissions" && name === NAME);
}

/** Comments would be lost, so a file that has some is left to its owner. */
function readStrictly(file: string): JsonObject {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    if (errorCode(error) === "ENOENT") return {};
    throw error;
  }
  try {
    return mappingIn(JSON.parse(text));
  } catch {
    throw new UserError("it is not plain JSON", { code: "settings", cure: "Add the rule to permissions.allow there." });
  }
}

function mappingIn(value: JsonValue | undefined): JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : {};
}
