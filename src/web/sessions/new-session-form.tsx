import { type FormEvent, type KeyboardEvent, type ReactNode, useEffect, useState } from "react";
import type { AgentCatalog } from "../../client/index.ts";
import { type NewSession, type PermissionMode, permissionModes, type WorkerInfo } from "../../protocol/index.ts";
import { goTo } from "../state/route.ts";
import { useServer } from "../state/server-context.ts";
import { asClientError } from "../state/server-store.ts";

/** Starts a session with a prompt, and if wanted with another agent, model, mode, budget or directory. */
export function NewSessionForm({ workers }: { readonly workers: readonly WorkerInfo[] }): ReactNode {
  const { client } = useServer();
  const [chosen, setChosen] = useState<Readonly<Record<string, string>>>({});
  const [prompt, setPrompt] = useState("");
  const [hasOptions, setHasOptions] = useState(false);
  const [isStarting, setIsStarting] = useState(false);
  const [error, setError] = useState("");
  const choose = (name: string) => (value: string) => setChosen((before) => ({ ...before, [name]: value }));
  const agents = useAgents(chosen["worker"], hasOptions);

  const start = async (): Promise<void> => {
    setIsStarting(true);
    setError("");
    try {
      const { id } = await client.sessions.create(newSession(prompt, chosen));
      goTo({ page: "session", id });
    } catch (problem) {
      setError(asClientError(problem).detail);
      setIsStarting(false);
    }
  };
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (prompt.trim() !== "" && !isStarting) void start();
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === "Enter" && !event.shiftKey && !event.nativeEvent.isComposing) submit(event);
  };
  return (
    <form className="new-session" onSubmit={submit} aria-label="Start a session">
      <textarea
        aria-label="Prompt"
        placeholder="What should be done? Enter starts a session, Shift+Enter adds a line."
        rows={Math.min(8, Math.max(2, prompt.split("\n").length))}
        value={prompt}
        onChange={({ target }) => setPrompt(target.value)}
        onKeyDown={onKeyDown}
      />
      {hasOptions && (
        <div className="options">
          {workers.length > 1 && (
            <Choice label="Directory" value={chosen["worker"]} onChoose={choose("worker")} first="">
              {workers.map(({ name, root, state }) => (
                <option key={name} value={name} disabled={state === "lost"}>
                  {name} ({state === "connected" ? root : state})
                </option>
              ))}
            </Choice>
          )}
          <Choice label="Agent" value={chosen["agent"]} onChoose={choose("agent")} first="Default">
            {agents.map(({ name }) => (
              <option key={name}>{name}</option>
            ))}
          </Choice>
          <Choice label="Mode" value={chosen["mode"]} onChoose={choose("mode")} first="From the settings">
            {permissionModes.map((mode) => (
              <option key={mode}>{mode}</option>
            ))}
          </Choice>
          <Field label="Model" value={chosen["model"]} onChoose={choose("model")} hint="From the settings" />
          <Field label="Budget in $" value={chosen["maxCost"]} onChoose={choose("maxCost")} hint="No limit" isNumber />
          <Field label="Turns" value={chosen["maxTurns"]} onChoose={choose("maxTurns")} hint="Default" isNumber />
        </div>
      )}
      {error !== "" && (
        <p className="form-error" role="alert">
          {error}
        </p>
      )}
      <div className="actions">
        <button type="submit" className="primary" disabled={prompt.trim() === "" || isStarting}>
          {isStarting ? "Starting…" : "Start"}
        </button>
        <button type="button" aria-expanded={hasOptions} onClick={() => setHasOptions(!hasOptions)}>
          {hasOptions ? "Fewer options" : "Options"}
        </button>
      </div>
    </form>
  );
}

function newSession(prompt: string, chosen: Readonly<Record<string, string>>): NewSession {
  const text = (name: string): string | undefined => chosen[name]?.trim() || undefined;
  const number = (name: string): number | undefined => (text(name) === undefined ? undefined : Number(text(name)));
  return {
    prompt,
    worker: text("worker"),
    agent: text("agent"),
    model: text("model"),
    permissionMode: text("mode") as PermissionMode | undefined,
    maxCost: number("maxCost"),
    maxTurns: number("maxTurns"),
  };
}

/** Returns the agents of a directory once they are wanted. */
function useAgents(worker: string | undefined, isWanted: boolean): AgentCatalog["agents"] {
  const { client } = useServer();
  const [agents, setAgents] = useState<AgentCatalog["agents"]>([]);
  useEffect(() => {
    if (!isWanted) return undefined;
    let isCurrent = true;
    client.agents(worker || undefined).then(
      (catalog) => isCurrent && setAgents(catalog.agents),
      // The list is only a help: without it, the default agent can still be started.
      () => isCurrent && setAgents([]),
    );
    return () => {
      isCurrent = false;
    };
  }, [client, worker, isWanted]);
  return agents;
}

interface FieldProps {
  readonly label: string;
  readonly value: string | undefined;
  readonly onChoose: (value: string) => void;
}

function Field({
  label,
  value = "",
  onChoose,
  hint,
  isNumber,
}: FieldProps & { readonly hint: string; readonly isNumber?: true }): ReactNode {
  return (
    <label>
      {label}
      <input
        value={value}
        placeholder={hint}
        inputMode={isNumber ? "decimal" : "text"}
        onChange={({ target }) => onChoose(target.value)}
      />
    </label>
  );
}

function Choice({
  label,
  value = "",
  onChoose,
  first,
  children,
}: FieldProps & { readonly first: string; readonly children: ReactNode }): ReactNode {
  return (
    <label>
      {label}
      <select value={value} onChange={({ target }) => onChoose(target.value)}>
        {first !== "" && <option value="">{first}</option>}
        {children}
      </select>
    </label>
  );
}
