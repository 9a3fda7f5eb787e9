import type { ComponentProps, ReactNode } from "react";
import { useOffline } from "../state/offline.ts";

interface SendButtonProps extends ComponentProps<"button"> {
  /** Whether clicks have no effect for now, for example because a command is being sent. The focus stays. */
  readonly isHeld?: boolean;
}

/** A button that sends something to the server. While there is no connection, it is disabled and says why. */
export function SendButton({ isHeld = false, title, onClick, ...others }: SendButtonProps): ReactNode {
  const offline = useOffline();
  return (
    <button
      type="button"
      {...others}
      aria-disabled={isHeld || offline !== undefined}
      data-offline={offline !== undefined || undefined}
      title={offline ?? title}
      onClick={(event) => {
        // Without this, the click would submit the button's form.
        if (offline !== undefined) event.preventDefault();
        else onClick?.(event);
      }}
    />
  );
}
