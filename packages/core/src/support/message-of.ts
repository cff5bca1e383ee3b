import { quote } from './quote.js';

/** The message of an error, or any other thrown value or abort reason as text. Never throws. */
export function messageOf(thrown: unknown): string {
  try {
    return String(thrown instanceof Error ? thrown.message : thrown);
  } catch {
    return quote(thrown);
  }
}
