/** The request makes no sense, or is impossible on this machine. The program prints one line and exits with code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}
