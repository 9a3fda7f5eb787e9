import { type ReactNode, useId } from "react";

interface FieldProps {
  readonly label: string;
  readonly value: string | undefined;
  readonly onChoose: (value: string) => void;
}

interface TextFieldProps extends FieldProps {
  readonly name: string;
  readonly placeholder: string;
  readonly problem?: string | undefined;
  readonly suggestions?: readonly string[];
}

/** Shows a field for short text, with any problem below it. */
export function Field({
  name,
  label,
  value = "",
  onChoose,
  placeholder,
  problem,
  suggestions,
}: TextFieldProps): ReactNode {
  const id = useId();
  return (
    <label>
      {label}
      <input
        name={name}
        value={value}
        placeholder={placeholder}
        autoComplete="off"
        inputMode={suggestions === undefined ? "decimal" : "text"}
        list={suggestions && `${id}-list`}
        aria-invalid={problem !== undefined}
        aria-describedby={problem && `${id}-hint`}
        onChange={({ target }) => onChoose(target.value)}
      />
      {suggestions !== undefined && (
        <datalist id={`${id}-list`}>
          {suggestions.map((each) => (
            <option key={each} value={each} />
          ))}
        </datalist>
      )}
      {problem !== undefined && (
        <span id={`${id}-hint`} className="hint bad" role="alert">
          {problem}
        </span>
      )}
    </label>
  );
}

interface ChoiceProps extends FieldProps {
  /** Label of the default option. */
  readonly first?: string;
  readonly hint?: string | undefined;
  readonly children: ReactNode;
}

/** Shows a list of options. */
export function Choice({ label, value = "", onChoose, first, hint, children }: ChoiceProps): ReactNode {
  const id = useId();
  return (
    <label>
      {label}
      <select value={value} aria-describedby={hint && id} onChange={({ target }) => onChoose(target.value)}>
        {first !== undefined && <option value="">{first}</option>}
        {children}
      </select>
      {hint !== undefined && (
        <span id={id} className="hint">
          {hint}
        </span>
      )}
    </label>
  );
}
