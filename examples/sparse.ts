// Reduces gradients of an embedding. Each replica has changed a few rows of a large table, and sends only these rows.
import { densify, IndexedSlices, tensor } from '@coll/core';
import { ring } from '@coll/ring';
import { MirroredStrategy } from '@coll/strategy';

const table = [1_000_000, 2] as const;
const words = [
  [7, 4, 7],
  [4, 999_999],
] as const;

await using strategy = new MirroredStrategy({ devices: ['cpu:0', 'cpu:1'], crossDeviceOps: ring });
const gradients = strategy.experimentalDistributeValuesFromFunction(({ replicaIdInSyncGroup }) => {
  const indices = Int32Array.from(words[replicaIdInSyncGroup] as readonly number[]);
  const rows = tensor(new Float32Array(2 * indices.length).fill(1), { shape: [indices.length, 2] });
  return new IndexedSlices(rows, indices, table);
});

const joined = await strategy.reduce('sum', gradients, null);
console.log('one after the other:', joined.indices.data.join(' '));

// In a replica, call replica.allReduce('mean', gradient, { deduplicate: true }) instead.
const unique = await strategy.reduce('mean', gradients, null, { deduplicate: true });
unique.indices.data.forEach((index, position) => {
  const row = unique.values.data.slice(2 * position, 2 * position + 2);
  console.log(`row ${index}: ${row.join(' ')}`);
});

console.log('dense:', densify(unique).data.length, 'elements');
