import type { App, Layer, Space } from "../app.ts";
import { askForNumber } from "../plain/ask-for-number.ts";
import { type Row, span } from "../screen/row.ts";
import { cleanLine, cut, pad, spread, widthOf, wrap } from "../screen/text.ts";
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
      const room = text === "" ? Math.max(1, rows - 1) : Math.max(1, Math.min(listed.length, Math.floor(rows / 2)));
      const first = Math.max(0, Math.min(selected - Math.floor(room / 2), listed.length - room));
      const width = Math.min(40, Math.max(0, ...listed.map(({ label }) => widthOf(label))));
      const head: Row = [
        span(`  ${title}`, "bold"),
        ...(filter === "" ? [] : [span(`  ${filter}`, "accent")]),
        ...(listed.length > room ? [span(`  ${selected + 1} of ${listed.length}`, "dim")] : []),
      ];
      const shown = listed.slice(first, first + room).map((choice, index): Row => {
        const { label, about = "", hotkey, isCurrent } = choice;
        const facts = [choice.facts ?? "", isCurrent ? "current" : ""].filter((part) => part !== "").join(" · ");
        const isSelected = first + index === selected;
        const name = cleanLine(about === "" ? label : pad(cut(label, width), width));
        return spread(
          [
            span(isSelected ? "› " : "  ", "accent"),
            ...(hotkey === undefined ? [] : [span(`${hotkey} `, "accent")]),
            span(name, isSelected ? "bold" : undefined),
            span(about === "" ? "" : `  ${cleanLine(about)}`, "dim"),
          ],
          facts === "" ? [] : [span(facts, "dim")],
          columns - 1,
        );
      });
      const list = [head, ...(shown.length === 0 ? [[span("  Nothing matches.", "dim")]] : shown)];
      return { rows: text === "" ? list : [...list, ...detailRows(text, { columns, rows: rows - list.length })] };
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
