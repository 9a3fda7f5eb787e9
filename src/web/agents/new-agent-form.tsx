import { type FormEvent, type ReactNode, useState } from "react";
import { type AgentDraft, type PermissionMode, permissionModes } from "../../protocol/index.ts";
import { SendButton } from "../parts/send-button.tsx";
import { useDraft } from "../state/draft.ts";
import { useOffline } from "../state/offline.ts";
import { goTo, linkTo } from "../state/route.ts";
import { useServer } from "../state/server-context.ts";
import { asClientError } from "../state/server-store.ts";
import type { AgentsPlace } from "./agents-place.ts";
import { CheckResult } from "./check-result.tsx";
import { shownPath } from "./findings.tsx";
import { nameFault } from "./name-fault.ts";
import { useCheck } from "./use-check.ts";

interface NewAgentFormProps {
  readonly place: AgentsPlace;
  readonly onWritten: () => void;
}

/**
 * Creates a new agent in the project. The definition is checked while the user types, and kept as long as the tab is
 * open.
 */
export function NewAgentForm({ place: { worker, root }, onWritten }: NewAgentFormProps): ReactNode {
  const { client } = useServer();
  const [stored, setStored] = useDraft(`new agent ${worker ?? ""}`);
  const fields = stored === "" ? {} : (JSON.parse(stored) as Readonly<Record<string, string>>);
  const [isSaving, setIsSaving] = useState(false);
  const [failure, setError] = useState("");
  const error = useOffline() ?? failure;
  const [written, setWritten] = useState("");
  const text = (name: string): string => fields[name] ?? "";
  const change = (name: string) => (value: string) => {
    const changed = { ...fields, [name]: value };
    setStored(Object.values(changed).some((each) => each !== "") ? JSON.stringify(changed) : "");
  };
  const name = text("name").trim();
  const fault = nameFault(name);
  const badName = name !== "" && fault !== undefined;
  const isDescribed = text("description").trim() !== "";
  const draft = fault !== undefined || !isDescribed ? undefined : draftOf(text);
  const checked = useCheck(draft, worker);
  const taken = checked.isCurrent && checked.check?.diagnostics.find(({ code }) => code === "name_taken");
  const hasError = checked.check?.diagnostics.some(({ severity }) => severity === "error") ?? false;
  const save = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    if (draft === undefined) return;
    setIsSaving(true);
    setError("");
    try {
      const { name: created, file, loaded } = await client.agentFiles.create(draft, worker);
      setStored("");
      onWritten();
      if (loaded) goTo({ page: "agents", agent: created });
      else setWritten(shownPath(file, root));
    } catch (problem) {
      setError(asClientError(problem).detail);
    }
    setIsSaving(false);
  };
  if (written !== "")
    return (
      <div role="status">
        <h2>The file was written</h2>
        <p>
          <code>{written}</code> will be loaded when you trust this directory. Run <code>retinue trust add</code> there.
        </p>
        <p>
          <a href={linkTo({ page: "agents" })}>Show all agents.</a>
        </p>
      </div>
    );
  return (
    <>
      <a className="agents-back" href={linkTo({ page: "agents" })}>
        ‹ All agents
      </a>
      <div className="agent-title">
        <h2>New agent</h2>
      </div>
      <form className="new-agent" onSubmit={(event) => void save(event)} aria-label="New agent">
        <div className="new-agent-fields">
          <label>
            <span>Name</span>
            <input
              value={text("name")}
              placeholder="code-reviewer"
              autoComplete="off"
              spellCheck={false}
              // biome-ignore lint/a11y/noAutofocus: the user has asked for the form
              autoFocus
              aria-invalid={badName || Boolean(taken)}
              aria-describedby="agent-name-hint"
              onChange={({ target }) => change("name")(target.value)}
            />
            <span id="agent-name-hint" className={badName || taken ? "hint bad" : "hint"}>
              {badName
                ? fault
                : taken
                  ? `${taken.message} ${taken.fix ?? ""}`
                  : `Becomes the file ${shownPath(checked.check?.file ?? `.agents/agents/${name || "NAME"}.md`, root)}.`}
            </span>
          </label>
          <label>
            <span>Description</span>
            <textarea
              rows={3}
              value={text("description")}
              placeholder="Reviews changes for mistakes. Use after editing code. Does not edit."
              aria-describedby="agent-description-hint"
              onChange={({ target }) => change("description")(target.value)}
            />
            <span id="agent-description-hint" className="hint">
              Models choose the agent by its description: what it does, when to use it, and what it does not do.
            </span>
          </label>
          <label>
            <span>Tools</span>
            <input
              value={text("tools")}
              placeholder="All tools"
              spellCheck={false}
              autoComplete="off"
              aria-describedby="agent-tools-hint"
              onChange={({ target }) => change("tools")(target.value)}
            />
            <span id="agent-tools-hint" className="hint">
              Such as <code>Read, Grep, Bash(git diff *)</code>. An agent never gets tools that its parent does not
              have.
            </span>
          </label>
          <div className="new-agent-pair">
            <label>
              <span>Model</span>
              <input
                value={text("model")}
                placeholder="Same as its parent"
                list="agent-models"
                autoComplete="off"
                onChange={({ target }) => change("model")(target.value)}
              />
              <datalist id="agent-models">
                <option value="small" />
                <option value="medium" />
                <option value="large" />
              </datalist>
            </label>
            <label>
              <span>Mode</span>
              <select value={text("mode")} onChange={({ target }) => change("mode")(target.value)}>
                <option value="">Same as its parent</option>
                {permissionModes.map((mode) => (
                  <option key={mode}>{mode}</option>
                ))}
              </select>
            </label>
          </div>
          <label>
            <span>Prompt</span>
            <textarea
              rows={Math.min(20, Math.max(8, text("prompt").split("\n").length + 1))}
              value={text("prompt")}
              placeholder="Its role, how to work, and what to report. If you leave this empty, a template is used."
              onChange={({ target }) => change("prompt")(target.value)}
            />
          </label>
          {error !== "" && (
            <p className="form-error" role="alert">
              {error}
            </p>
          )}
          <div className="actions">
            <SendButton type="submit" className="primary" disabled={draft === undefined || hasError || isSaving}>
              {isSaving ? "Creating…" : "Create agent"}
            </SendButton>
            {stored !== "" && (
              <button type="button" className="quiet" onClick={() => setStored("")}>
                Clear the form
              </button>
            )}
          </div>
        </div>
        <div>
          <CheckResult checked={checked} root={root} needs={needsOf(fault, name, isDescribed)} />
          {draft !== undefined && checked.check !== undefined && (
            <details className="agent-prompt">
              <summary>The file</summary>
              <pre>{checked.check.text}</pre>
            </details>
          )}
        </div>
      </form>
    </>
  );
}

/** Says what is missing before the definition can be checked. */
function needsOf(fault: string | undefined, name: string, isDescribed: boolean): string | undefined {
  if (fault !== undefined && name !== "") return "The definition will be checked when the name is valid.";
  if (name === "") return `Enter a name${isDescribed ? "" : " and a description"} to check the definition.`;
  return isDescribed ? undefined : "Enter a description to check the definition.";
}

function draftOf(text: (name: string) => string): AgentDraft {
  const given = (name: string): string | undefined => text(name).trim() || undefined;
  const tools = splitTools(text("tools"));
  return {
    name: text("name").trim(),
    description: text("description").trim(),
    tools: tools.length === 0 ? undefined : tools,
    model: given("model"),
    permissionMode: given("mode") as PermissionMode | undefined,
    prompt: given("prompt"),
  };
}

/** Splits names at commas, except within parentheses. */
function splitTools(text: string): readonly string[] {
  return (text.match(/(?:[^,(]|\([^)]*\)?)+/g) ?? []).map((tool) => tool.trim()).filter((tool) => tool !== "");
}
