import type { LinkTimes } from '@coll/core/schedule';

/** A network between workers. */
export interface Network {
  readonly name: string;
  readonly words: string;
  readonly times: LinkTimes;
}

const gigabits = (rate: number): number => 8e-9 / rate;

/** The networks of the tables: round numbers of the usual magnitude, not measured ones. */
export const networks: readonly Network[] = [
  {
    name: 'LAN',
    words: '1 Gbit/s Ethernet with TCP',
    times: { alpha: 50e-6, beta: gigabits(1), overhead: 2e-6 },
  },
  {
    name: 'datacentre',
    words: '100 Gbit/s with a network card that moves the data itself',
    times: { alpha: 5e-6, beta: gigabits(100), overhead: 0.3e-6 },
  },
];

/** Links between the ranks of a worker: 20 GB/s. */
export const withinWorker: LinkTimes = { alpha: 1e-6, beta: gigabits(160), overhead: 0.1e-6 };

/** Seconds to combine a byte: 10 GB/s. */
export const gamma = 1e-10;

/** Bytes of the buffers that are reduced. */
export const buffers: readonly number[] = [1024, 1024 ** 2, 100 * 1024 ** 2];
