/** A value as it can stand in an error message: short, on one line, for any value. */
export function quote(value: unknown): string {
  const text = describe(value);
  return text.length > 80 ? `${text.slice(0, 77)}...` : text;
}

function describe(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value);
  if (typeof value === 'function') return `function ${value.name || '(anonymous)'}`;
  if (ArrayBuffer.isView(value))
    return `${Object.prototype.toString.call(value).slice(8, -1)}(${value.byteLength} bytes)`;
  if (Array.isArray(value)) return `[${value.slice(0, 8).map(describe).join(', ')}${value.length > 8 ? ', …' : ''}]`;
  if (typeof value === 'object' && value !== null) return `an object (${value.constructor?.name || 'no prototype'})`;
  return String(value);
}
