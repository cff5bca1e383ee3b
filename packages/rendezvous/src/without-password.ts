/**
 * Makes an address safe to print: replaces everything before its last `@`, which may contain a
 * password, by `***`.
 */
export function withoutPassword(address: string): string {
  return address.replace(/^(\w+:\/\/)?.*@/s, '$1***@');
}
