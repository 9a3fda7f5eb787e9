import type { App, Layer, Space } from "../app.ts";
import { askForNumber } from "../plain/ask-for-number.ts";
import { type Row, span } from "../screen/row.ts";
import { cleanLine, cut, pad, spread, widthOf, widthOfRow, wrap } from "../screen/text.ts";
import type { Choice, PickerOptions } from "./choice.ts";
import { createHeldKey } from "./held-key.ts";

/**
 * Lets the user choose from a list, with the arrow keys or by typing part of a label. In plain mode, the list is printed
 * and the user types a number.
 */
export function openPicker<Value>(app: App, options: PickerOptions<Value>): void {
  if (app.isPlain) askForNumber(app, options);
  else openList(app, options);
}

function openList<Value>(app: App, options: PickerOptions<Value>): void {
  const { title, choices, detail, onChoose, onCancel, onType } = options;
  let filter = "";
  let selected = Math.max(
    0,
    choices.findIndex(({ isCurrent }) => isCurrent),
  );
  /** Number of detail rows that are scrolled out of view at the top. */
  let above = 0;
  const held = createHeldKey(app);
  /** Whether the user has begun to write a prompt. */
  let hasTyped = false;
  const type = (text: string): void => {
    hasTyped = true;
    if (onType !== undefined) app.close(layer);
    (onType ?? app.type)(text);
  };
  const hasHotkeys = choices.some(({ hotkey }) => hotkey !== undefined);
  const found = (): readonly Choice<Value>[] => {
    const wanted = filter.toLowerCase();
    return choices.filter(({ label, about = "" }) => `${label} ${about}`.toLowerCase().includes(wanted));
  };
  const choose = (choice: Choice<Value> | undefined): void => {
    if (choice === undefined) return;
    app.close(layer);
    onChoose(choice.value);
  };
  const layer: Layer = {
    keys: ["↑↓ choose", "Enter selects", "Esc back", ...(hasHotkeys ? [] : ["type to search"])],
    draw: ({ columns, rows }) => {
      const listed = found();
      const chosen = listed[selected];
      const text = chosen === undefined ? "" : (detail?.(chosen.value) ?? "");
      const width = Math.min(40, Math.max(0, ...listed.map(({ label }) => widthOf(label))));
      const described = text === "" && chosen !== undefined ? descriptionRows(chosen, { columns, rows, width }) : [];
      const room = Math.max(
        1,
        text === "" ? rows - 1 - described.length : Math.min(listed.length, Math.floor(rows / 2)),
      );
      const first = Math.max(0, Math.min(selected - Math.floor(room / 2), listed.length - room));
      const shown = listed
        .slice(first, first + room)
        .flatMap((choice, index): readonly Row[] =>
          first + index === selected
            ? [choiceRow(choice, { columns, width, isSelected: true }), ...described]
            : [choiceRow(choice, { columns, width })],
        );
      const list: readonly Row[] = shown.length === 0 ? [[span("  Nothing matches.", "dim")]] : shown;
      const titleRows = wrap([span(title, "bold")], { columns: columns - 1, first: [span("  ")] });
      const head: readonly Row[] =
        text === "" && filter === "" && titleRows.length + listed.length + described.length <= rows
          ? titleRows
          : [
              [
                span(`  ${title}`, "bold"),
                ...(filter === "" ? [] : [span(`  ${filter}`, "accent")]),
                ...(listed.length > room ? [span(`  ${selected + 1} of ${listed.length}`, "dim")] : []),
              ],
            ];
      const top = [...head, ...list];
      return { rows: text === "" ? top : [...top, ...detailRows(text, { columns, rows: rows - top.length })] };
    },
    key: (key) => {
      const listed = found();
      if (key.kind === "text" && hasHotkeys) {
        const text = `${held.take()}${key.text}`;
        const chosen = hasTyped ? undefined : choices.find(({ hotkey }) => hotkey === text);
        // Any other text is the beginning of a prompt.
        if (chosen === undefined) type(text);
        else held.press(text, () => choose(chosen));
        return true;
      }
      if (key.kind === "paste" && hasHotkeys) {
        type(key.text);
        return true;
      }
      if (key.kind !== "key") {
        filter += cleanLine(key.text);
        selected = 0;
        return true;
      }
      const letter = held.take();
      if (key.name === "esc" || key.name === "ctrl-c") {
        app.close(layer);
        onCancel?.();
      } else if (key.name === "enter") choose(choices.find(({ hotkey }) => hotkey === letter) ?? listed[selected]);
      else if (key.name === "up") selected = Math.max(0, selected - 1);
      else if (key.name === "down") selected = Math.min(Math.max(0, listed.length - 1), selected + 1);
      else if (detail !== undefined && (key.name === "pageup" || key.name === "pagedown"))
        above += key.name === "pageup" ? -DETAIL_PAGE : DETAIL_PAGE;
      else if (key.name === "pageup") selected = Math.max(0, selected - 10);
      else if (key.name === "pagedown") selected = Math.min(Math.max(0, listed.length - 1), selected + 10);
      else if (key.name === "backspace") {
        filter = filter.slice(0, -1);
        selected = 0;
      } else return false;
      return true;
    },
  };
  app.open(layer);

  function detailRows(text: string, { columns, rows }: Space): readonly Row[] {
    const edge = [span("  │ ", "warn")];
    const all = text
      .split("\n")
      .flatMap((line) => wrap([span(line)], { columns: columns - 1, first: edge, others: edge }));
    const room = Math.max(1, all.length > rows ? rows - 1 : rows);
    above = Math.max(0, Math.min(above, all.length - room));
    const hidden = all.length - above - room;
    const more = all.length > rows ? [[span(hidden > 0 ? `  ↓ ${hidden} more rows · PgDn` : "  PgUp", "warn")]] : [];
    return [...all.slice(above, above + room), ...more];
  }
}

const DETAIL_PAGE = 5;

interface ChoiceSpace {
  readonly columns: number;
  /** Width of the labels if they are followed by descriptions. */
  readonly width: number;
}

function choiceRow(
  choice: Choice<unknown>,
  { columns, width, isSelected = false }: ChoiceSpace & { readonly isSelected?: boolean },
): Row {
  const facts = factsOf(choice);
  return spread(choiceSpans(choice, width, isSelected), facts === "" ? [] : [span(facts, "dim")], columns - 1);
}

function choiceSpans({ label, about = "", hotkey }: Choice<unknown>, width: number, isSelected: boolean): Row {
  return [
    span(isSelected ? "› " : "  ", "accent"),
    ...(hotkey === undefined ? [] : [span(`${hotkey} `, "accent")]),
    span(cleanLine(about === "" ? label : pad(cut(label, width), width)), isSelected ? "bold" : undefined),
    span(about === "" ? "" : `  ${cleanLine(about)}`, "dim"),
  ];
}

function factsOf({ facts = "", isCurrent }: Choice<unknown>): string {
  return [facts, isCurrent ? "current" : ""].filter((part) => part !== "").join(" · ");
}

/** In a narrower window, the selected choice is described in full below it if its own row is too short. */
const NARROW = 60;
/** Number of rows for the title and the selected choice. */
const KEPT_ROWS = 2;

function descriptionRows(choice: Choice<unknown>, { columns, rows, width }: ChoiceSpace & Space): readonly Row[] {
  const { label, about = "" } = choice;
  const facts = widthOf(factsOf(choice));
  const room = columns - 1 - (facts === 0 ? 0 : facts + 2);
  if (columns >= NARROW || widthOfRow(choiceSpans(choice, width, true)) <= room) return [];
  const wrapped = wrap([span(cleanLine(about || label), "dim")], { columns: columns - 1, first: [span("    ")] });
  return wrapped.slice(0, Math.max(0, rows - KEPT_ROWS));
}
