import { accumulatorOf, type CollectiveOp } from '../collectives/collective.js';
import { type DType, isFloating, type TypedArray } from '../values/dtype.js';

/**
 * `into[intoAt + i] = a[aAt + i] op b[bAt + i]` for `count` elements. `into` may be `a` or `b` at
 * the same index.
 */
export type CombineKernel = (
  into: TypedArray,
  intoAt: number,
  a: TypedArray,
  aAt: number,
  b: TypedArray,
  bAt: number,
  count: number,
) => void;

/** The ops that combine two elements; a mean is a sum until it is divided. */
export type ElementaryOp = Exclude<CollectiveOp, 'mean'>;

export function elementaryOp(op: CollectiveOp): ElementaryOp {
  return op === 'mean' ? 'sum' : op;
}

/**
 * The kernel of an accumulator dtype (not a 16-bit float) and an op. Integers wrap around; `bool`
 * treats sum and max as or, product and min as and. Float minima and maxima propagate NaN, and
 * order -0 below 0. Results for float32 are computed in float64 and rounded once when they are
 * stored, which gives the same bits as float32 arithmetic.
 */
export function combineKernel(dtype: DType, op: ElementaryOp): CombineKernel {
  const ofOp = kernels[op];
  const known = ofOp.get(dtype);
  if (known) return known;
  const made = generate(combinerParameters, combination(dtype, op)) as CombineKernel;
  ofOp.set(dtype, made);
  return made;
}

/**
 * The kernel that combines two values of a dtype. The result has the dtype `accumulatorOf` returns,
 * and so have the operands, unless they are integers of which the mean is computed.
 */
export function pairKernel(dtype: DType, op: CollectiveOp): CombineKernel {
  return op === 'mean' && !isFloating(dtype)
    ? integerKernel(integerPairs, dtype, `${numberOf(dtype, 'a[aAt + i]')} + ${numberOf(dtype, 'b[bAt + i]')}`)
    : combineKernel(accumulatorOf(dtype, op), elementaryOp(op));
}

/** As `pairKernel`, but the first operand is a result of `pairKernel` or of this kernel. */
export function nextKernel(dtype: DType, op: CollectiveOp): CombineKernel {
  return op === 'mean' && !isFloating(dtype)
    ? integerKernel(integerNexts, dtype, `a[aAt + i] + ${numberOf(dtype, 'b[bAt + i]')}`)
    : combineKernel(accumulatorOf(dtype, op), elementaryOp(op));
}

function integerKernel(known: Map<DType, CombineKernel>, dtype: DType, sum: string): CombineKernel {
  const kernel = known.get(dtype) ?? (generate(combinerParameters, loop(sum)) as CombineKernel);
  known.set(dtype, kernel);
  return kernel;
}

/**
 * `into[intoAt + i] = from[fromAt + i] / divisor` for `count` elements: true division, rounded once
 * to the type of `into`.
 */
export type DivideKernel = (
  into: TypedArray,
  intoAt: number,
  from: TypedArray,
  fromAt: number,
  count: number,
  divisor: number,
) => void;

/** The kernel that divides elements of a dtype that is not a 16-bit float; the quotients are floats. */
export function divideKernel(dtype: DType): DivideKernel {
  const known = dividers.get(dtype);
  if (known) return known;
  const element = numberOf(dtype, 'from[fromAt + i]');
  // For a power of two, multiplication by the reciprocal gives the same quotients in a quarter of the
  // time. The bit test needs an int32.
  const body = `if ((divisor | 0) !== divisor || divisor & (divisor - 1)) { ${loop(`${element} / divisor`)} } else { const factor = 1 / divisor; ${loop(`${element} * factor`)} }`;
  const made = generate(dividerParameters, body) as DivideKernel;
  dividers.set(dtype, made);
  return made;
}

const kernels: Readonly<Record<ElementaryOp, Map<DType, CombineKernel>>> = {
  sum: new Map(),
  min: new Map(),
  max: new Map(),
  product: new Map(),
};
const integerPairs = new Map<DType, CombineKernel>();
const integerNexts = new Map<DType, CombineKernel>();
const dividers = new Map<DType, DivideKernel>();
const combinerParameters = ['into', 'intoAt', 'a', 'aAt', 'b', 'bAt', 'count'];
const dividerParameters = ['into', 'intoAt', 'from', 'fromAt', 'count', 'divisor'];

// Generates one function per dtype and op from source, because closures of one literal would share
// their type feedback, and a loop that has seen several kinds of arrays runs at two thirds of the
// speed. The text contains no external input. Indices are converted to int32 first, which is wide
// enough for every tensor: with doubles, which divisions produce, the loop runs at a quarter of the
// speed.
function generate(parameters: readonly string[], body: string): unknown {
  const indices = parameters.filter((name) => name.endsWith('At') || name === 'count');
  return new Function(...parameters, indices.map((name) => `${name} |= 0; `).join('') + body);
}

// From `shortest` elements on, the loop uses views, which need no offsets, and combines `unrolled`
// elements per iteration, which needs fewer loop checks. It is then twice as fast.
const unrolled = 8;
const shortest = 64;

function combination(dtype: DType, op: ElementaryOp): string {
  const simple = loop(expression(dtype, op, 'a[aAt + i]', 'b[bAt + i]'));
  const element = (index: string) => `p[${index}] = ${expression(dtype, op, `q[${index}]`, `r[${index}]`)};`;
  const turn = Array.from({ length: unrolled }, (_, offset) => element(`i + ${offset}`)).join(' ');
  return `if (count < ${shortest}) { ${simple} return; }
    const p = into.subarray(intoAt, intoAt + count);
    const q = a.subarray(aAt, aAt + count), r = b.subarray(bAt, bAt + count);
    let i = 0;
    for (; i < count - ${unrolled - 1}; i += ${unrolled}) { ${turn} }
    for (; i < count; i++) ${element('i')}`;
}

function loop(element: string): string {
  return `for (let i = 0; i < count; i++) into[intoAt + i] = ${element};`;
}

function expression(dtype: DType, op: ElementaryOp, x: string, y: string): string {
  if (dtype === 'bool') return op === 'sum' || op === 'max' ? `${x} | ${y} ? 1 : 0` : `${x} && ${y} ? 1 : 0`;
  switch (op) {
    case 'sum':
      return `${x} + ${y}`;
    case 'product':
      return dtype === 'int32' || dtype === 'uint32' ? `Math.imul(${x}, ${y})` : `${x} * ${y}`;
    case 'min':
      return isBig(dtype) ? `${x} < ${y} ? ${x} : ${y}` : `Math.min(${x}, ${y})`;
    case 'max':
      return isBig(dtype) ? `${x} > ${y} ? ${x} : ${y}` : `Math.max(${x}, ${y})`;
  }
}

/** The source of an element as a number. */
function numberOf(dtype: DType, element: string): string {
  return isBig(dtype) ? `Number(${element})` : element;
}

function isBig(dtype: DType): boolean {
  return dtype === 'int64' || dtype === 'uint64';
}
