import { MirroredStrategy } from '@coll/strategy';
import { expect, it } from 'vitest';
import { serveMetrics } from '../src/index.js';

const module = new URL('./fixtures/observed-replica.ts', import.meta.url);

it('replicas in threads make spans, and the main thread serves the metrics of all of them', async () => {
  await using server = await serveMetrics({ port: 0 });
  await using strategy = new MirroredStrategy({ devices: ['cpu:0', 'cpu:1'] });
  const run = strategy.run<typeof import('./fixtures/observed-replica.ts')>(module, { args: [3] });
  const replicas = strategy.experimentalLocalResults(await run) as { name: string; attributes: object }[][];
  for (const [rank, spans] of replicas.entries()) {
    const own = spans.filter(({ name }) => name === 'all-reduce sum');
    expect(own.length).toBe(3);
    expect(own[0]?.attributes).toMatchObject({ 'coll.rank': rank, 'coll.size': 2, 'coll.bytes': 16 });
  }
  const text = async () => (await fetch(server.url as string)).text();
  for (const rank of [0, 1]) {
    const labels = `{coll_operation="all-reduce sum",coll_rank="${rank}"}`;
    await expect.poll(text, { timeout: 60_000 }).toContain(`coll_calls_total${labels} 3\n`);
    expect(await text()).toContain(`coll_bytes_total${labels} 48\n`);
    expect(await text()).toContain(`coll_groups{coll_rank="${rank}"} 1\n`);
  }
});
