// Chooses the engine for the arithmetic: C++ if there is a binary for this machine, else WebAssembly or JavaScript. All return the same bits.
import '@coll/native/register';
import { CollError } from '@coll/core';
import { DirectAllReduce } from '@coll/direct';
import { MirroredStrategy } from '@coll/strategy';

const devices = ['cpu:0', 'cpu:1'];

// A strategy uses the fastest engine that works on this machine, or the engine that the program names.
for (const engine of ['auto', 'wasm', 'js'] as const) {
  await using strategy = new MirroredStrategy({ devices, engine });
  const { threadEngine, engines } = await strategy.explain();
  const refusals = engines.flatMap(({ name, refused }) => (refused ? [`, because ${name} is ${refused}`] : []));
  console.log(`${engine}: ${threadEngine}${refusals.join('')}`);
}

// Ops without a strategy use the registered engines. If the named engine is not available, the constructor throws.
try {
  await using ops = new DirectAllReduce({ engine: 'native' });
  console.log(`direct: ${ops.explain().engine}`);
} catch (error) {
  if (error instanceof CollError) console.log(`direct: ${error.code}: ${error.message}`);
}
