/**
 * An address that is safe to print: everything before its last `@` is removed, because it may
 * contain a password.
 */
export function withoutPassword(address: string): string {
  return address.replace(/^(\w+:\/\/)?.*@/s, '$1***@');
}
