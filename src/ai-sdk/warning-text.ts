import type { AiSdkModel, Warning } from "./ai-sdk-types.ts";

/** Returns what a provider warns about, as a notice for the user. */
export function warningText(
  { type, feature, setting, tool, details, message }: Warning,
  { provider }: Pick<AiSdkModel, "provider">,
): string {
  const what = feature ?? setting ?? tool?.name;
  const explanation = details ?? message;
  if (what === undefined) return `${provider}: ${explanation ?? type}`;
  const verb = type.startsWith("unsupported") ? "does not support" : `reports ${type} use of`;
  return `${provider} ${verb} ${what}${explanation === undefined ? "." : `: ${explanation}`}`;
}
