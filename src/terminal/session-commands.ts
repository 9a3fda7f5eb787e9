import { agentOf, type NewCommand } from "../client/index.ts";
import { nearest } from "../lib/index.ts";
import { type ContextReport, MAIN_AGENT, type PermissionMode, permissionModes } from "../protocol/index.ts";
import type { App } from "./app.ts";
import { thousands } from "./conversation/item-rows.ts";
import type { HostChoice, HostCommand } from "./host-command.ts";
import { openPicker } from "./parts/picker.ts";
import { askHowToRewind } from "./parts/rewind-question.ts";
import { type Row, span } from "./screen/row.ts";
import { cleanLine, pad, preview } from "./screen/text.ts";
import { shownPrompt, typedPrompt } from "./typed-prompt.ts";

/**
 * Returns the commands that change a session or show what fills its context window. `write` puts text into the prompt
 * box.
 */
export function sessionCommands(app: App, write: (text: string) => void): readonly HostCommand[] {
  /** Sends a command, and returns the message in its receipt. */
  async function told(command: NewCommand): Promise<string> {
    const receipt = await app.send(command);
    return receipt?.status === "done" ? receipt.message : "";
  }

  async function modelChoices(): Promise<readonly HostChoice[]> {
    const models = await app.host?.models?.();
    if (models === undefined) return tiers;
    const current = app.host?.facts.model;
    return models.map(({ name, about }) => ({ value: name, label: name, about, isCurrent: name === current }));
  }

  /** Returns a sentence if the chosen model is not a known one. */
  async function unknownModel(): Promise<string> {
    const names = ((await app.host?.models?.()) ?? []).map(({ name }) => name);
    const chosen = app.host?.facts.model ?? "";
    if (names.length === 0 || names.includes(chosen)) return "";
    const [meant] = nearest(chosen, names);
    return ` It is not a known model. ${meant === undefined ? "/model lists the known ones." : `Did you mean ${meant}?`}`;
  }

  return [
    {
      name: "model",
      about: "switch to another model, starting with the next prompt",
      choices: modelChoices,
      get noChoices() {
        return app.host?.facts.isOffline ? ONLY_OFFLINE : NO_MODELS;
      },
      run: async (model) => {
        const message = await told({ type: "configure", model });
        const chosen = app.host?.facts.model ?? model;
        const which = tiers.some(({ value }) => value === model) && chosen !== model ? ` It is now ${chosen}.` : "";
        return message === "" ? "" : `${message}${which}${await unknownModel()}`;
      },
    },
    {
      name: "permissions",
      about: "change the permission mode, or list the rules",
      choices: async () => [
        ...(app.host?.rules === undefined
          ? []
          : [{ value: "rules", label: "rules", about: "list the rules in force" }]),
        ...permissionModes.map((mode) => ({
          value: mode,
          label: mode,
          about: modes[mode],
          isCurrent: mode === currentMode(app),
        })),
      ],
      run: async (argument) => {
        if (argument === "rules") return (await app.host?.rules?.()) ?? "";
        const mode = permissionModes.find((each) => each === argument);
        if (mode === undefined) return `There is no permission mode "${argument}". Use ${permissionModes.join(", ")}.`;
        if (mode === "bypassPermissions" && currentMode(app) !== mode && !(await isSure(app)))
          return `The permission mode is still ${currentMode(app)}.`;
        const message = await told({ type: "configure", permissionMode: mode });
        // If the agent has begun to work, its conversation also shows the change.
        return agentOf(app.view, MAIN_AGENT) === undefined ? message : "";
      },
    },
    {
      name: "context",
      about: "show what fills the context window",
      run: async () => {
        const report = await app.host?.context();
        if (report === undefined) return "The main agent has not made a request yet.";
        app.print([[], ...contextRows(report)]);
        return "";
      },
    },
    {
      name: "compact",
      about: "replace the conversation with a summary",
      run: (instructions) => told({ type: "compact", instructions: instructions === "" ? undefined : instructions }),
    },
    {
      name: "rewind",
      about: "go back to an earlier prompt, and restore files",
      // The command's argument is an id, which means nothing to the user.
      isQuiet: true,
      noChoices: "There is no earlier prompt to go back to.",
      choices: async () => {
        const prompts = (await app.host?.prompts()) ?? [];
        return prompts.toReversed().map(({ id, text, at }) => ({
          value: id,
          label: preview(shownPrompt(text)),
          facts: new Date(at).toTimeString().slice(0, 5),
        }));
      },
      run: async (id) => {
        const prompts = (await app.host?.prompts()) ?? [];
        const index = prompts.findIndex((each) => each.id === id);
        const how = await askHowToRewind(app, index < 0 ? [] : prompts.slice(index));
        if (how === "cancel") return "";
        const message = await told({ type: "rewind", to: id, files: how === "restore" });
        const { text = "" } = prompts[index] ?? {};
        if (message !== "" && text !== "") write(typedPrompt(text).typed);
        return untold(message);
      },
    },
  ];
}

/** Returns the part of a receipt that the conversation does not already show, such as files that were not restored. */
function untold(message: string): string {
  return message.replace(
    /^The conversation is as it was before the prompt\.(?: Restored: .*?\.(?= Not restored: | The effects of |$))?\s*/s,
    "",
  );
}

/** Returns the main agent's permission mode. */
export function currentMode({ view, host }: Pick<App, "view" | "host">): PermissionMode {
  return host?.facts.permissionMode ?? agentOf(view, MAIN_AGENT)?.permissionMode ?? "default";
}

/** Asks the user to confirm that agents may do everything without asking. */
function isSure(app: App): Promise<boolean> {
  return new Promise((resolve) => {
    openPicker(app, {
      title: "Run every call without asking?",
      choices: [
        { hotkey: "n", label: "No, keep the current mode", value: false },
        { hotkey: "y", label: "Yes, bypass permissions", value: true },
      ],
      detail: () => BYPASS,
      onChoose: resolve,
      onCancel: () => resolve(false),
    });
  });
}

const BYPASS =
  "All agents in this session will then run commands, change files and use the network without asking you. Deny rules, ask rules and checks for protected files still apply. Use it only where nothing can be lost, such as in a container.";

const NO_MODELS =
  "No models from this provider are known. Use /model NAME, or /model PROVIDER/NAME for another provider.";
const ONLY_OFFLINE =
  "Only the offline model can be used. To use another one, set ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY and start again.";

const tiers = [
  { value: "small", label: "small", about: "fast and cheap" },
  { value: "medium", label: "medium", about: "for most work" },
  { value: "large", label: "large", about: "for hard problems; /model NAME uses any other model" },
];

const modes: Readonly<Record<PermissionMode, string>> = {
  default: "ask for approval when no rule decides",
  acceptEdits: "edit files in the workspace without asking",
  plan: "only read, and present a plan",
  dontAsk: "deny what would need approval",
  bypassPermissions: "run everything that no rule denies",
};

const BAR_COLUMNS = 30;

function contextRows({ used, window, parts, model }: ContextReport): readonly Row[] {
  const whole = window ?? used;
  const share = (tokens: number): string => `${((100 * tokens) / Math.max(1, whole)).toFixed(1).padStart(5)} %`;
  const bar = (tokens: number): string => "█".repeat(Math.round((BAR_COLUMNS * tokens) / Math.max(1, used)));
  const total = window === undefined ? "" : ` of ${thousands(window)}, ${share(used).trim()}`;
  return [
    [span(`  ${thousands(used)} tokens${total}`, "bold"), span(`  ${cleanLine(model)}`, "dim")],
    ...parts.map(
      ({ name, tokens }): Row => [
        span(`  ${pad(cleanLine(name), 24)}`),
        span(`${thousands(tokens).padStart(6)} ${share(tokens)}  `, "dim"),
        span(bar(tokens), "accent"),
      ],
    ),
  ];
}
