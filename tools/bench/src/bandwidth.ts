import type { CollectiveKind } from '@coll/core';

/**
 * Bytes of a call divided by its time, in GB/s (algbw of nccl-tests). `bytes` is the larger of a rank's
 * input and output.
 */
export function algorithmGBs(bytes: number, micros: number): number {
  return bytes / micros / 1e3;
}

/**
 * Bus bandwidth (busbw of nccl-tests): `algorithmGBs` times the share of the bytes that must cross each
 * rank's link with any algorithm. It compares different kinds and numbers of ranks with the speed of the
 * hardware.
 */
export function busGBs(kind: CollectiveKind, ranks: number, bytes: number, micros: number): number {
  return algorithmGBs(bytes, micros) * busFactor(kind, ranks);
}

function busFactor(kind: CollectiveKind, ranks: number): number {
  switch (kind) {
    case 'all-reduce':
      return (2 * (ranks - 1)) / ranks;
    case 'all-gather':
    case 'reduce-scatter':
    case 'gather':
    case 'scatter':
    case 'all-to-all':
      return (ranks - 1) / ranks;
    case 'reduce':
    case 'broadcast':
      return 1;
  }
}
