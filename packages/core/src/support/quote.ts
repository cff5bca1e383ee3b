/** Any value, formatted for an error message on one line of at most 80 characters. */
export function quote(value: unknown): string {
  const text = describe(value);
  return text.length > 80 ? `${text.slice(0, 77)}...` : text;
}

// Limits the depth of nested lists, because a list may contain itself.
const deepest = 3;

function describe(value: unknown, depth = 0): string {
  if (typeof value === 'string') return JSON.stringify(value);
  if (typeof value === 'function') return `function ${value.name || '(anonymous)'}`;
  if (ArrayBuffer.isView(value))
    return `${Object.prototype.toString.call(value).slice(8, -1)}(${value.byteLength} bytes)`;
  if (Array.isArray(value)) {
    if (depth === deepest) return '[…]';
    const items = value.slice(0, 8).map((item) => describe(item, depth + 1));
    return `[${items.join(', ')}${value.length > 8 ? ', …' : ''}]`;
  }
  if (typeof value !== 'object' || value === null) return String(value);
  const isTensor = 'dtype' in value && 'data' in value && 'shape' in value && !('dataSync' in value);
  if (isTensor && typeof value.dtype === 'string')
    return `${JSON.stringify(value.dtype).slice(1, -1)} tensor of shape ${describe(value.shape, depth + 1)}${placeOf(value)}`;
  const name: unknown = value.constructor?.name;
  return `an object (${typeof name === 'string' && name !== '' ? name : 'no prototype'})`;
}

function placeOf(value: object): string {
  const device = 'device' in value ? value.device : undefined;
  return typeof device === 'string' && device !== '' ? ` on ${JSON.stringify(device).slice(1, -1)}` : '';
}
