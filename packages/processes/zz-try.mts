import { fork } from 'node:child_process';
import { tensor } from '@coll/core';
import { directAlgorithm } from '@coll/direct';
import { openProcessGroup } from '@coll/processes';
import { TcpStore, TcpStoreServer } from '@coll/rendezvous';
const size = Number(process.env.SIZE ?? 2);
if (process.argv[2] === undefined) {
  const jobKey = TcpStoreServer.newKey();
  const server = await TcpStoreServer.listen({ job: 'j', jobKey });
  const kids = Array.from({ length: size }, (_, rank) => fork(process.argv[1]!, [String(rank)], { env: { ...process.env, COLL_STORE: server.address, COLL_JOB: 'j', COLL_JOB_KEY: jobKey, COLL_RANK: String(rank), COLL_SIZE: String(size) } }));
  await Promise.all(kids.map((kid) => new Promise((r) => kid.once('exit', (c, s) => { console.log('exit', c, s); r(0); }))));
  await server.close();
} else {
  const rank = Number(process.argv[2]);
  const t0 = performance.now();
  const group = await openProcessGroup({ transport: (process.env.TRANSPORT as 'auto') ?? 'auto', timeoutSeconds: 10 });
  if (rank === 0) console.log('opened in', performance.now() - t0, '\n' + group.explain().text);
  const c = group.communicator(directAlgorithm);
  const a = tensor(new Float32Array([1, 2, 3]).map((x) => x * (rank + 1)));
  const b = tensor(new Float32Array(3));
  await c.run({ kind: 'all-reduce', op: 'sum' }, [a], [b]);
  console.log(rank, b.data);
  c.runSync({ kind: 'all-reduce', op: 'mean' }, [a], [b]);
  console.log(rank, b.data);
  for (const n of [1, 256, 4096, 65536, 1 << 20, 4 << 20]) {
    for (const where of ['own', 'arena'] as const) {
      const x = where === 'own' || !c.allocate ? tensor(new Float32Array(n)) : c.allocate('float32', n);
      const reps = n < 10000 ? 20000 : n < 100000 ? 1000 : 20;
      const op = { kind: 'all-reduce', op: 'sum' } as const;
      for (let i = 0; i < reps / 10; i++) c.runSync(op, [x], [x]);
      const t = performance.now();
      for (let i = 0; i < reps; i++) c.runSync(op, [x], [x]);
      const us = ((performance.now() - t) / reps) * 1000;
      const t2 = performance.now();
      for (let i = 0; i < reps; i++) await c.run(op, [x], [x]);
      const us2 = ((performance.now() - t2) / reps) * 1000;
      if (rank === 0) console.log(n * 4, where, us.toFixed(2), 'us sync', us2.toFixed(2), 'us async');
    }
  }
  await group.close();
}
