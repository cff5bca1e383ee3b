import { meet, subStore, TcpStore, TcpStoreServer } from '@coll/rendezvous';
import { expect, it } from 'vitest';
import { openWorkerGroup } from './open-worker-group.js';

it('does not try again where workers of a newer generation have come', async () => {
  const job = { job: 'workers', jobKey: TcpStoreServer.newKey() };
  await using server = await TcpStoreServer.listen(job);
  const { address } = server;
  await using store = await TcpStore.connect({ ...job, address });
  const part = subStore(store, 'main');
  const card = new Uint8Array();
  const over = new AbortController();
  const newer = meet(part, { rank: 0, size: 2, generation: 1, card, signal: over.signal }).catch(() => {});
  await part.get('newest');
  const seat = {
    meeting: { ...job, address, generation: 0, isHere: false },
    rank: 1,
    size: 2,
    transport: {},
    startupTimeoutSeconds: null,
    scope: 'main',
  };
  await expect(openWorkerGroup(seat)).rejects.toMatchObject({
    name: 'UnavailableError',
    code: 'ERR_COLL_STORE',
    message: expect.stringMatching(/^generation 0 is over: rank 0 has come for generation 1/),
  });
  over.abort();
  await newer;
});
