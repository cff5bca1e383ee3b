/** What was asked for makes no sense, or cannot be done on this machine: one line for the user, exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}
