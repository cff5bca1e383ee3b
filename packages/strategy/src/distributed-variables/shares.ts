import { type DType, type Tensor, zeros } from '@coll/core';
import { decodeNumber, encodeNumber } from '@coll/core/internal';
import { divide, isFloating } from '@coll/core/plugin';

/**
 * The part of a replica in a value, so that the parts of all replicas add up to the value. Integers
 * are divided as evenly as possible; the first replicas take the remainder.
 */
export function shareOf(whole: Tensor, replica: number, replicas: number): Tensor {
  const { dtype, shape, device } = whole;
  if (isFloating(dtype) || dtype === 'bool') return castTo(divide(whole, replicas), dtype);
  const share = zeros(dtype, shape, device);
  whole.data.forEach((number: number | bigint, at: number) => {
    share.data[at] = (
      typeof number === 'bigint'
        ? bigintShare(number, BigInt(replica), BigInt(replicas))
        : numberShare(number, replica, replicas)
    ) as number;
  });
  return share;
}

function numberShare(whole: number, replica: number, replicas: number): number {
  const rest = whole % replicas;
  return (whole - rest) / replicas + (replica < Math.abs(rest) ? Math.sign(rest) : 0);
}

function bigintShare(whole: bigint, replica: bigint, replicas: bigint): bigint {
  const rest = whole % replicas;
  const [size, one] = rest < 0n ? [-rest, -1n] : [rest, 1n];
  return whole / replicas + (replica < size ? one : 0n);
}

function castTo(value: Tensor, dtype: DType): Tensor {
  if (value.dtype === dtype) return value;
  const cast = zeros(dtype, value.shape, value.device);
  for (let index = 0; index < cast.data.length; index++)
    cast.data[index] = encodeNumber(decodeNumber(value.data, index, value.dtype), dtype) as number;
  return cast;
}
