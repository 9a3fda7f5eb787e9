import { type RefObject, useLayoutEffect, useRef } from "react";

/**
 * Shows a dialog as long as its component is mounted. Afterwards, returns the focus to the element that had it before.
 */
export function useModal(): RefObject<HTMLDialogElement | null> {
  const dialog = useRef<HTMLDialogElement>(null);
  // A layout effect is cleaned up before the dialog is removed. A dialog that was already removed does not restore the focus.
  useLayoutEffect(() => {
    const element = dialog.current;
    element?.showModal();
    return () => element?.close();
  }, []);
  return dialog;
}
