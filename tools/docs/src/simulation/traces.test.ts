import type { Transfer } from '@coll/core/schedule';
import { expect, it } from 'vitest';
import { type Machine, platformOf, slowness } from './platform.ts';
import { tracesOf } from './traces.ts';

const times = (alpha: number) => ({ alpha, beta: 1e-6, overhead: 100e-6 });
const machine: Machine = { ranks: 4, ranksPerWorker: 2, across: times(2e-3), within: times(1e-3) };

const add = (from: number, to: number, chunk: number): Transfer => ({ from, to, chunk, reduce: true });
const copy = (from: number, to: number, chunk: number): Transfer => ({ from, to, chunk, reduce: false });

it('a trace lists the messages of a round for each rank, then the waits, then the reductions', () => {
  const rounds = [[add(1, 0, 0), add(1, 0, 1), add(2, 0, 0)], [copy(0, 3, 1)]];
  const schedule = { ranks: 4, chunks: 2, rounds };
  // 84 bytes and the 16 bytes that the simulator adds take as long as the overhead.
  const gamma = 1 / (slowness * 1e9);
  expect(tracesOf({ schedule, machine, bytes: 9, gamma })).toEqual([
    '0 init\n0 irecv 1 0 93\n0 irecv 2 0 89\n0 waitall\n0 compute 14\n0 isend 3 0 88\n0 waitall\n0 finalize\n',
    '1 init\n1 isend 0 0 93\n1 waitall\n1 finalize\n',
    '2 init\n2 isend 0 0 89\n2 waitall\n2 finalize\n',
    '3 init\n3 irecv 0 0 88\n3 waitall\n3 finalize\n',
  ]);
});

it('a trace for a machine without overhead contains messages, but no computation', () => {
  const bare = { ...machine, within: { alpha: 0, beta: 1e-6 } };
  const trial = { schedule: { ranks: 4, chunks: 1, rounds: [[copy(0, 1, 0)]] }, machine: bare, bytes: 7, gamma: 0 };
  expect(tracesOf(trial)[0]).toBe('0 init\n0 isend 1 0 7\n0 waitall\n0 finalize\n');
});

it('the simulated platform connects the workers in a star, and the ranks of each worker in a star', () => {
  const platform = platformOf(machine);
  const linksOf = (from: number, to: number) => {
    const route = platform.split('\n').find((line) => line.includes(`src="rank${from}" dst="rank${to}"`)) ?? '';
    return [...route.matchAll(/link_ctn id="([^"]+)"/g)].map(([, link]) => link);
  };
  expect(linksOf(0, 1)).toEqual(['rank0-up', 'rank1-down']);
  expect(linksOf(3, 1)).toEqual(['worker1-up', 'worker0-down']);
  expect(linksOf(2, 2)).toEqual([]);
  expect(platform).toContain(`<link id="worker1-up" bandwidth="${1e6 / slowness}Bps" latency="${1e-3 * slowness}s"/>`);
  expect(platform).toContain(
    `<link id="rank3-down" bandwidth="${1e6 / slowness}Bps" latency="${0.5e-3 * slowness}s"/>`,
  );
});
