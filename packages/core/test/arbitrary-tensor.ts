import fc from 'fast-check';
import { allocate, type DType, type TypedArray } from '../src/values/dtype.js';
import { elementCount, type Tensor } from '../src/values/tensor.js';

/** One element as its array stores it, special values and extremes included. */
function arbitraryElement(dtype: DType): fc.Arbitrary<number | bigint> {
  switch (dtype) {
    case 'float32':
      return fc.float();
    case 'float64':
      return fc.double();
    case 'bool':
      return fc.integer({ min: 0, max: 1 });
    case 'int64':
      return fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
    case 'uint64':
      return fc.bigInt({ min: 0n, max: 2n ** 64n - 1n });
    case 'int8':
    case 'int16':
    case 'int32': {
      const limit = 2 ** (Number(dtype.slice(3)) - 1);
      return fc.integer({ min: -limit, max: limit - 1 });
    }
    default:
      // Half types are any bits, as unsigned integers are.
      return fc.integer({ min: 0, max: 2 ** (dtype === 'uint8' ? 8 : dtype === 'uint32' ? 32 : 16) - 1 });
  }
}

/** Arrays of one dtype and length. */
export function arbitraryArray(dtype: DType, length: number): fc.Arbitrary<TypedArray> {
  return fc.array(arbitraryElement(dtype), { minLength: length, maxLength: length }).map((elements) => {
    const data = allocate(dtype, length);
    elements.forEach((element, index) => {
      data[index] = element as number;
    });
    return data;
  });
}

/** Shapes of few elements: scalars and empty ones, too. */
export const arbitraryShape: fc.Arbitrary<number[]> = fc.array(fc.integer({ min: 0, max: 4 }), { maxLength: 3 });

export function arbitraryTensor(dtype: DType, shape: readonly number[], device = ''): fc.Arbitrary<Tensor> {
  return arbitraryArray(dtype, elementCount(shape)).map((data) => ({ data, dtype, shape, device }));
}
