import { quote } from './quote.js';

/**
 * The text of a thrown value or an abort reason: the message of an error. Accepts any value, and
 * never throws.
 */
export function messageOf(thrown: unknown): string {
  try {
    return String(thrown instanceof Error ? thrown.message : thrown);
  } catch {
    return quote(thrown);
  }
}
