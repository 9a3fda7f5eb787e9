/** Beginnings of texts that Retinue adds to user turns and that other parts of the program recognise. */
export const runtimeTexts = {
  previousRun: "[Your previous run",
  interrupted: "[The user interrupted your previous run",
  acceptanceFailed: "[The acceptance check failed",
  verificationFailed: "[Verification failed",
} as const;
