const KEY = "retinue-theme";

export type Theme = "system" | "dark" | "light";

export function storedTheme(): Theme {
  const stored = localStorage.getItem(KEY);
  return stored === "dark" || stored === "light" ? stored : "system";
}

/** Shows the page in a theme, and remembers it. `system` follows the settings of the browser. */
export function applyTheme(theme: Theme): void {
  if (theme === "system") {
    localStorage.removeItem(KEY);
    delete document.documentElement.dataset["theme"];
  } else {
    localStorage.setItem(KEY, theme);
    document.documentElement.dataset["theme"] = theme;
  }
}
