import { TcpStoreServer } from '@coll/rendezvous';
import { executorSuite, processRanks } from '@coll/testing';
import { afterAll, describe, it } from 'vitest';
import { drawnSuite } from '../../../tools/tests/drawn.ts';
import type { JoinOptions } from './join-auto.ts';

const member = { job: 'chosen algorithms', jobKey: TcpStoreServer.newKey() };
const server = await TcpStoreServer.listen(member);
const options: JoinOptions = { ...member, address: server.address };
const module = new URL('./join-auto.ts', import.meta.url).href;
const processes = processRanks({ join: { module, export: 'join', options } });
afterAll(async () => {
  await processes.close();
  await server.close();
});

executorSuite(
  drawnSuite({
    test: it,
    describe,
    name: 'chosen algorithms across processes',
    membersOf: (size) => size,
    lacks: ['reserve'],
    open: processes.open,
    ranks: [1, 3],
  }),
);
