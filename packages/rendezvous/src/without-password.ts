/** An address that is safe to print: text before its last `@`, maybe a password, becomes `***`. */
export function withoutPassword(address: string): string {
  return address.replace(/^(\w+:\/\/)?.*@/s, '$1***@');
}
