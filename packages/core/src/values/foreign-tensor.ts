/** Fields by which tensors of other libraries are recognized, because no such library is imported. */
interface ForeignFields {
  readonly shape?: unknown;
  readonly dims?: unknown;
  readonly data?: unknown;
  readonly dataSync?: unknown;
  readonly getData?: unknown;
  readonly dataId?: unknown;
  readonly assign?: unknown;
}

/**
 * The kind of a tensor of another library whose elements only a method returns, with its article:
 * `a tf.Tensor` or `a tf.Variable` of TensorFlow.js. Undefined for any other value.
 */
export function foreignTensor(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return undefined;
  const { shape, dims, data, dataSync, getData, dataId, assign }: ForeignFields = value;
  if (!Array.isArray(shape ?? dims)) return undefined;
  if (![data, dataSync, getData].some((method) => typeof method === 'function')) return undefined;
  if (typeof dataId !== 'object') return 'a tensor of another library';
  return typeof assign === 'function' ? 'a tf.Variable' : 'a tf.Tensor';
}

/**
 * Like `foreignTensor`, for the first such tensor in a value that may contain others: a map, a set or
 * an object.
 */
export function foreignTensorIn(value: unknown): string | undefined {
  // A set visits what is added meanwhile, and each value once. Recursion would limit the depth.
  const seen = new Set([value]);
  for (const part of seen) {
    if (typeof part !== 'object' || part === null || ArrayBuffer.isView(part)) continue;
    const found = foreignTensor(part);
    if (found) return found;
    for (const inside of partsOf(part)) seen.add(inside);
  }
  return undefined;
}

function partsOf(value: object): Iterable<unknown> {
  if (value instanceof Map) return [...value.keys(), ...value.values()];
  return value instanceof Set ? value : Object.values(value);
}
