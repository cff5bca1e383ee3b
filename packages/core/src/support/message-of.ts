import { quote } from './quote.js';

/** What was thrown, or given as a reason, in words: the message of an error. Anything can be thrown, and this itself throws for nothing. */
export function messageOf(thrown: unknown): string {
  try {
    return String(thrown instanceof Error ? thrown.message : thrown);
  } catch {
    return quote(thrown);
  }
}
