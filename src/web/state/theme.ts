import { useEffect, useReducer } from "react";

const KEY = "retinue-theme";

export type Theme = "system" | "dark" | "light";

export function storedTheme(): Theme {
  const stored = localStorage.getItem(KEY);
  return stored === "dark" || stored === "light" ? stored : "system";
}

/** Shows the page in a theme, and remembers it. `system` follows the browser's settings. */
export function applyTheme(theme: Theme): void {
  if (theme === "system") {
    localStorage.removeItem(KEY);
    delete document.documentElement.dataset["theme"];
  } else {
    localStorage.setItem(KEY, theme);
    document.documentElement.dataset["theme"] = theme;
  }
}

/** Renders the component again when the colors have changed, because the browser does not redraw canvases by itself. */
export function useColors(): void {
  const [, renderAgain] = useReducer((count: number) => count + 1, 0);
  useEffect(() => {
    const media = matchMedia("(prefers-color-scheme: dark)");
    const observer = new MutationObserver(renderAgain);
    media.addEventListener("change", renderAgain);
    observer.observe(document.documentElement, { attributes: true });
    return () => {
      media.removeEventListener("change", renderAgain);
      observer.disconnect();
    };
  }, []);
}
