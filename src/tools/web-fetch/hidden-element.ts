/** Reads an attribute of an element; null if the element does not have it. */
export type ReadAttribute = (name: string) => string | null | undefined;

/**
 * Returns true if the attributes of an element hide its content. `background` is the color behind the element, if
 * known. Also runs in the worker thread, so it must not use anything defined outside of it.
 */
export function isHiddenElement(read: ReadAttribute, background: string | undefined): boolean {
  const declarations = new Map<string, string>();
  const important = new Set<string>();
  const plain = (read("style") ?? "")
    .replace(/\/\*[^*]*\*\//g, "")
    .replace(/\\([\da-f]{1,6})\s?/gi, (_, code: string) =>
      String.fromCodePoint(Math.min(Number.parseInt(code, 16), 0xffff)),
    );
  for (const declaration of plain.split(";")) {
    const [property = "", ...rest] = declaration.split(":");
    const name = property.trim().toLowerCase();
    const value = rest.join(":").toLowerCase();
    const isImportant = /!\s*important/.test(value);
    if (important.has(name) && !isImportant) continue;
    if (isImportant) important.add(name);
    declarations.set(name, value.replace(/!\s*important/, "").trim());
  }
  /** Reduces simple calls to `calc`, `min`, `max` and `clamp` to one value. */
  const reduced = (value: string): string => {
    const [, name = "", inner = ""] = /^(calc|min|max|clamp)\(([^()]*)\)/.exec(value) ?? [];
    if (name === "") return value;
    if (/^[\s0.]*\*|\*[\s0.]*$/.test(inner)) return "0";
    const parts = inner.split(",").map((part) => part.trim());
    if (name === "min") return parts.find((part) => /^[-0.]+(?![\d.])/.test(part)) ?? value;
    return name === "clamp" ? (parts[2] ?? value) : parts.length === 1 && !/\s/.test(parts[0]!) ? parts[0]! : value;
  };
  const style = (name: string): string => reduced(declarations.get(name) ?? "");
  const number = (text: string): number => (/^[-+]?[\d.]+/.test(text) ? Number.parseFloat(text) : Number.NaN);
  const share = (text: string): number => number(text) / (text.includes("%") ? 100 : 1);
  /** Converts a length to pixels, assuming that the text and the window have their usual sizes. */
  const pixels = (text: string): number => {
    const sizes: Record<string, number> = {
      px: 1,
      pt: 1.3,
      q: 1,
      mm: 4,
      cm: 38,
      in: 96,
      "%": 0.16,
      ch: 8,
      ex: 8,
      vw: 13,
    };
    const unit = /^[-+\d.]+([a-z%]*)/.exec(text)?.[1] ?? "";
    return number(text) * (sizes[unit] ?? (unit === "" ? 1 : 8));
  };
  const isTiny = (text: string): boolean => number(text) <= 1 && !/^[\d.]+(?:em|rem|vw|vh|in|cm)/.test(text);
  const isFarAway = (text: string): boolean => number(text) <= (/em|vw|vh/.test(text) ? -90 : -900);
  const isTransparent = (text: string): boolean => {
    const [, alpha] = /(?:,[^,)]*,[^,)]*,|\/)\s*([\d.]+%?)\s*\)$/.exec(text) ?? [];
    return /^transparent|^#(?:[\da-f]{3}0|[\da-f]{6}0[\da-f])$/.test(text) || share(alpha ?? "") < 0.1;
  };
  /** Converts a color from any common notation to a single one. */
  const color = (text: string): string => {
    const named: Record<string, string> = { white: "#ffffff", black: "#000000" };
    const short = /^#([\da-f])([\da-f])([\da-f])$/.exec(text);
    if (short) return `#${short[1]}${short[1]}${short[2]}${short[2]}${short[3]}${short[3]}`;
    const [, ...parts] = /^rgba?\(\s*(\d+)[\s,]+(\d+)[\s,]+(\d+)\s*(?:[,/]\s*(?:1|1\.0|100%)\s*)?\)$/.exec(text) ?? [];
    if (parts.length === 0) return named[text] ?? text;
    return `#${parts.map((part) => Number(part).toString(16).padStart(2, "0")).join("")}`;
  };

  if ((read("hidden") ?? null) !== null || read("aria-hidden")?.trim().toLowerCase() === "true") return true;
  // Names of classes that style sheets use to hide text from everyone except users of screen readers.
  if (/(?:^|\s)(?:sr-only|visually-?hidden|screen-reader-(?:text|only))(?:\s|$)/i.test(read("class") ?? ""))
    return true;
  if (/^none\b/.test(style("display")) || /^(hidden|collapse)\b/.test(style("visibility"))) return true;
  if (/^hidden\b/.test(style("content-visibility"))) return true;
  if (share(style("opacity")) < 0.1 || number(style("zoom")) === 0) return true;
  const [, filtered = ""] = /opacity\(\s*([\d.]+%?)/.exec(style("filter")) ?? [];
  const [, blurred = ""] = /blur\(\s*([\d.]+px)/.exec(style("filter")) ?? [];
  if (share(filtered) < 0.1 || number(blurred) >= 10) return true;
  const size = style("font-size") || (/(?:^|\s)([\d.]+(?:px|pt|em|rem|%))(?:\/|\s)/.exec(style("font"))?.[1] ?? "");
  if (pixels(size) < 3) return true;
  const mask = ["mask", "mask-image", "-webkit-mask", "-webkit-mask-image"].map(style).join(" ");
  const unmasked = mask.replace(/transparent|#0{4}\b|#0{8}\b|rgba\(\s*0[\s,]+0[\s,]+0[\s,]+0\s*\)/g, "");
  if (unmasked !== mask && !/#|rgb|hsl|url|black|white/.test(unmasked)) return true;
  const isClipped = /hidden|clip/.test(`${style("overflow")}${style("overflow-x")}${style("overflow-y")}`);
  const boxes = ["width", "height", "max-width", "max-height"].map(style);
  if (isClipped && boxes.some((box) => box !== "" && isTiny(box))) return true;
  if (/^rect\(\s*[01](?:px)?[\s,]+[01]/.test(style("clip"))) return true;
  if (/^(?:inset\(\s*(?:50|100)%|circle\(\s*0|polygon\(\s*0(?:px|%)?\s+0[^1-9]*$)/.test(style("clip-path")))
    return true;
  const [, scaled = ""] = /scale[xyz3d]*\(\s*([\d.]+)/.exec(style("transform")) ?? [];
  if (number(scaled) < 0.05 || number(style("scale")) < 0.05) return true;
  if (/translate[xy3d]*\([^)]*-\d{4,}|rotate[xy]\(\s*-?90deg|matrix\(\s*0[\s,]+0[\s,]+0/.test(style("transform")))
    return true;
  if (/^[xy]\s+-?90deg/.test(style("rotate"))) return true;
  const offsets = ["translate", "left", "top", "right", "bottom", "text-indent", "margin-left", "margin-top", "inset"];
  if (offsets.some((name) => isFarAway(style(name)))) return true;
  const own = style("color") || (read("color") ?? "").trim().toLowerCase();
  if (isTransparent(own) || isTransparent(style("-webkit-text-fill-color"))) return true;
  return own !== "" && background !== undefined && color(own) === color(background);
}

/**
 * Returns an element's background color. Also runs in the worker thread, so it must not use anything defined outside of
 * it.
 */
export function backgroundOf(read: ReadAttribute): string | undefined {
  const all = (read("style") ?? "").matchAll(
    /(?:^|;)\s*background(?:-color)?\s*:\s*(#[\da-f]{3,8}|rgba?\([^)]*\)|[a-z]+)/gi,
  );
  const [, last = read("bgcolor") ?? ""] = [...all].at(-1) ?? [];
  const background = last.trim().toLowerCase();
  return /^(none|transparent|inherit|initial|unset|)$/.test(background) ? undefined : background;
}

/**
 * Replaces `var(…)` in a style, and returns the variables that apply inside the element. An unknown variable has no
 * value. Also runs in the worker thread, so it must not use anything defined outside of it.
 */
export function resolveVariables(
  style: string,
  inherited: ReadonlyMap<string, string>,
): { readonly style: string; readonly variables: ReadonlyMap<string, string> } {
  const own = [...style.matchAll(/(?:^|;)\s*(--[\w-]+)\s*:([^;]{0,200})/g)];
  const variables = own.length === 0 ? inherited : new Map(inherited);
  for (const [, name = "", value = ""] of own) (variables as Map<string, string>).set(name, value.trim());
  let resolved = style;
  for (let round = 0; round < 5 && resolved.length < 10_000 && /var\(/i.test(resolved); round += 1) {
    resolved = resolved.replace(
      /var\(\s*(--[\w-]+)\s*(?:,([^()]*))?\)/gi,
      (_, name: string, fallback?: string) => variables.get(name) ?? fallback ?? "",
    );
  }
  return { style: resolved, variables };
}

/** The parts of an element that simple selectors refer to. */
export interface StyledElement {
  readonly tag: string;
  readonly id: string;
  readonly classes: readonly string[];
}

/**
 * Reads a style sheet. Returns a function that finds the declarations for an element, weakest first. Ignores selectors
 * other than those made of a tag, classes and ids. Evaluates media queries as for a wide screen. Also runs in the
 * worker thread, so it must not use anything defined outside of it.
 */
export function readStyleSheet(css: string): (element: StyledElement) => string {
  interface Rule {
    readonly tag: string;
    readonly names: readonly string[];
    readonly weight: number;
    readonly text: string;
  }
  const rules = new Map<string, Rule[]>();
  const add = (selector: string, text: string): void => {
    const plain = selector.trim().replace(/^:root$/, "html");
    const [, tag = "", rest = ""] = /^([a-z][\w-]*|\*)?((?:[.#][\w-]+)*)$/i.exec(plain) ?? [];
    const names = rest.match(/[.#][\w-]+/g) ?? [];
    const key = names[0] ?? tag.toLowerCase();
    if (key === "") return;
    const weight = names.reduce((sum, name) => sum + (name.startsWith("#") ? 1_000_000 : 1_000), tag === "" ? 0 : 1);
    const rule = { tag: tag.toLowerCase(), names, weight, text };
    if (rules.get(key)?.push(rule) === undefined) rules.set(key, [rule]);
  };
  const isOnScreen = (outer: string): boolean =>
    /^@(media|supports|layer)\b/i.test(outer) && !/print|max-width|prefers|not\b/i.test(outer);
  const outer: string[] = [];
  let before = "";
  for (const piece of css.replace(/\/\*[\s\S]*?(?:\*\/|$)/g, "").split(/([{}])/)) {
    if (piece === "{") outer.push(before.slice(before.lastIndexOf(";") + 1).trim());
    else if (piece === "}") {
      const selectors = outer.pop() ?? "@";
      // Text that an animation or a script makes visible later is treated as visible.
      const isShownLater =
        /(animation|transition)[\w-]{0,30}\s{0,9}:/i.test(before) && !/display\s*:\s*none/i.test(before);
      if (!selectors.startsWith("@") && outer.every(isOnScreen) && !isShownLater)
        for (const selector of selectors.split(",")) add(selector, before);
    }
    before = piece;
  }
  return ({ tag, id, classes }) => {
    const own = [`#${id}`, ...classes.map((name) => `.${name}`)];
    const found = [...new Set(["*", tag, ...own])]
      .flatMap((key) => rules.get(key) ?? [])
      .filter((rule) => /^\*?$/.test(rule.tag) || rule.tag === tag)
      .filter(({ names }) => names.every((name) => own.includes(name)));
    return found
      .sort((left, right) => left.weight - right.weight)
      .map(({ text }) => text)
      .join(";");
  };
}
