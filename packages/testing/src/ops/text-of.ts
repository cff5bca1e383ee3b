/** Formats an invalid argument for the message of a failing test. */
export function textOf(value: unknown): string {
  if (typeof value === 'symbol') return 'a symbol';
  const name = Object(value).constructor?.name;
  return typeof value === 'object' && value !== null ? `${name} ${JSON.stringify(value)?.slice(0, 80)}` : String(value);
}
