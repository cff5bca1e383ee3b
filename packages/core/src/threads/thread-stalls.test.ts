import { directAlgorithm } from '@coll/direct';
import { describe, expect, it } from 'vitest';
import { joinThreadGroup } from '../engines/open-members.js';
import { jsEngine } from '../js/js-engine.js';
import { wasmEngine } from '../wasm/wasm-engine.js';
import { failThreadGroup } from './thread-group.js';
import { waitingRanks } from './thread-stalls.js';

describe.each([jsEngine, wasmEngine])('the waiting ranks of a group of threads of the $name engine', (engine) => {
  it.each([1, 100_000])('are those that have arrived at a collective of %i elements', async (length) => {
    const group = engine.createGroup({ size: 3, spins: 0 });
    const members = [0, 1, 2].map((rank) => joinThreadGroup(group, { rank, algorithm: directAlgorithm() }));
    const [first, second, third] = members.map((member) => () => member.allReduce('max', new Float32Array(length)));
    expect(waitingRanks(group)).toBeUndefined();
    for (let call = 0; call < 3; call++) {
      const calls = [third?.()];
      expect(waitingRanks(group)).toMatchObject({ operation: 'all-reduce max', waiting: [2], missing: [0, 1] });
      calls.push(first?.());
      expect(waitingRanks(group)).toMatchObject({ operation: 'all-reduce max', waiting: [0, 2], missing: [1] });
      await Promise.all([...calls, second?.()]);
      expect(waitingRanks(group)).toBeUndefined();
    }
    const barrier = first && members[0]?.barrier().catch(() => {});
    expect(waitingRanks(group)).toMatchObject({ operation: 'barrier', waiting: [0], missing: [1, 2] });
    failThreadGroup(group, 1, 'has no data');
    expect(waitingRanks(group)).toBeUndefined();
    await barrier;
    for (const member of members) await member.close();
  });
});
