/** An address as it may stand in a message: what is before its last `@` may be a password. */
export function withoutPassword(address: string): string {
  return address.replace(/^(\w+:\/\/)?.*@/s, '$1***@');
}
