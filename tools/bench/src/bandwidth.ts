import type { CollectiveKind } from '@coll/core';

/** Bytes of a call by its time, in GB/s; what nccl-tests calls algbw. `bytes` is the larger of a rank's input and output. */
export function algorithmGBs(bytes: number, micros: number): number {
  return bytes / micros / 1e3;
}

/**
 * What nccl-tests calls busbw: `algorithmGBs` times the share of the bytes that has to cross a link of each rank whatever the
 * algorithm, so that figures of different kinds and rank counts compare with the speed of the hardware.
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
