// Selects the backend of a strategy in three ways, and prints the reasons for the choice.
import '@coll/direct/register';
import '@coll/ring/register';
import { CollError } from '@coll/core';
import { ring } from '@coll/ring';
import { MirroredStrategy } from '@coll/strategy';

const devices = ['cpu:0', 'cpu:1'];

for (const crossDeviceOps of ['auto', 'ring', { name: ring, options: { subChunks: 2 } }] as const) {
  await using strategy = new MirroredStrategy({ devices, crossDeviceOps });
  const { name, engine, candidates } = await strategy.explain();
  console.log(`${name} on the ${engine} engine`);
  for (const candidate of candidates) console.log(`  ${candidate.name}: ${candidate.reason}`);
}

try {
  new MirroredStrategy({ devices, crossDeviceOps: 'nccl' });
} catch (error) {
  if (error instanceof CollError) console.log(`${error.code}: ${error.message}`);
}
