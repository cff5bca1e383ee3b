import { fork } from 'node:child_process';
import { hostname } from 'node:os';
import { fileURLToPath } from 'node:url';
import { TcpStore, TcpStoreServer } from '@coll/rendezvous';
import { expect, it } from 'vitest';
import { openProcessGroup } from '../src/index.js';

const program = fileURLToPath(new URL('./fixtures/ends-early.js', import.meta.url));
const [job, jobKey] = ['ends early', TcpStoreServer.newKey()];

it.each(['SIGKILL', 3, 0] as const)(
  'a member that ends by %s while another has not arrived is named on the others',
  async (how) => {
    await using server = await TcpStoreServer.listen({ job, jobKey });
    const { address } = server;
    const child = fork(program, [JSON.stringify({ address, job, jobKey, rank: 2 })], {
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    await using store = await TcpStore.connect({ address, job, jobKey });
    const opening = openProcessGroup({ store, job, jobKey, rank: 0, size: 3, timeoutSeconds: 600 });
    const failure = opening.catch((error) => error);
    await store.get(`job/${job}/generation/0/peers/2`);
    if (how === 'SIGKILL') child.kill(how);
    else child.send(how);
    expect(await failure).toMatchObject({
      ...{ name: 'UnavailableError', code: 'ERR_COLL_PEER_FAILED', rank: 2, ranks: [2], operation: 'open a group' },
      message: `rank 2 on ${hostname()} exited before the group was open: see the output of that process; then open the group again with the next generation`,
    });
  },
);
