import { tensor } from '@coll/core';
import { NcclCommunicator } from '@coll/nccl';
import { TcpStore } from '@coll/rendezvous';
import '../doubles.ts';

/** Opens a group with other processes, sums with them once, and reports the stage that it reached and its error. */
const [rank, size] = process.argv.slice(2).map(Number) as [number, number];
const store = await TcpStore.connect({
  address: process.env['COLL_TEST_STORE'] as string,
  job: 'nccl',
  jobKey: 'tests-only-4kQz9XvB7mLwR2',
});
try {
  process.send?.({ stage: 'connecting' });
  const devices = [`gpu:${rank}`];
  const communicator = await NcclCommunicator.connect({ store, rank, size, devices, timeoutSeconds: 240 });
  process.send?.({ stage: 'open' });
  const value = tensor(Float32Array.of(1));
  await communicator.run({ kind: 'all-reduce', op: 'sum' }, [value], [value], { timeoutSeconds: 240 });
  await communicator.close();
  process.send?.({ stage: 'done' });
} catch (error) {
  const { name, code, rank: lost, message } = error as Error & { code: string; rank: number };
  process.send?.({ stage: 'failed', name, code, rank: lost, message });
}
await store.close();
process.disconnect?.();
