// What adds the numbers up: C++ where there is a binary for this machine, WebAssembly or JavaScript elsewhere. All give the same bits.
import '@coll/native/register';
import { CollError } from '@coll/core';
import { DirectAllReduce } from '@coll/direct';
import { MirroredStrategy } from '@coll/strategy';

const devices = ['cpu:0', 'cpu:1'];

// A strategy takes the fastest that works here, or the one that it is told to take.
for (const engine of ['auto', 'wasm', 'js'] as const) {
  await using strategy = new MirroredStrategy({ devices, engine });
  const { threadEngine, engines } = await strategy.explain();
  const refusals = engines.flatMap(({ name, refused }) => (refused ? [`, because ${name} is ${refused}`] : []));
  console.log(`${engine}: ${threadEngine}${refusals.join('')}`);
}

// Ops without a strategy know the engines that are registered. One that is named is taken, or else nothing.
try {
  await using ops = new DirectAllReduce({ engine: 'native' });
  console.log(`direct: ${ops.explain().engine}`);
} catch (error) {
  if (error instanceof CollError) console.log(`direct: ${error.code}: ${error.message}`);
}
