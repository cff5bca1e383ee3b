// The process of a rank whose memory, connections and messages are counted. It is JavaScript, because compiling
// TypeScript in 128 processes takes minutes.
import { readFileSync } from 'node:fs';
import { binaryTreeAlgorithm, recursiveHalvingDoublingAlgorithm } from '@coll/multi-worker';
import { openProcessGroup } from '@coll/processes';
import { subStore, TcpStore } from '@coll/rendezvous';
import { ringAlgorithm } from '@coll/ring';

const { rank, ranks, ...member } = JSON.parse(process.argv[2]);
const algorithms = {
  ring: ringAlgorithm,
  rechd: recursiveHalvingDoublingAlgorithm,
  'binary-tree': binaryTreeAlgorithm,
};
const elements = 16_384;
const data = new Float32Array(elements);
const buffer = { data, dtype: 'float32', shape: [elements], device: '' };

let group;
let communicator;
let before = 0;

const orders = {
  async start() {},
  async open({ transport, algorithm }) {
    before = memoryBytes();
    const store = await TcpStore.connect(member);
    const { job, jobKey } = member;
    const groupStore = subStore(store, `${transport} ${algorithm}`);
    const patience = { timeoutSeconds: 240, heartbeatSeconds: 60 };
    group = await openProcessGroup({ store: groupStore, rank, size: ranks, job, jobKey, transport, ...patience });
    await store.close();
    communicator = group.communicator(algorithms[algorithm]());
  },
  async call({ count }) {
    for (let call = 0; call < count; call++)
      communicator.runSync({ kind: 'all-reduce', op: 'sum' }, [buffer], [buffer], { timeoutSeconds: 240 });
    return memoryBytes() - before;
  },
  async close() {
    await group.close();
  },
};

process.on('message', async (order) => {
  try {
    process.send({ result: await orders[order.type](order) });
  } catch (error) {
    process.send({ error: String(error) });
  }
});
process.once('disconnect', () => process.exit());

/** The memory of this process. Pages that several processes map count proportionally. */
function memoryBytes() {
  globalThis.gc();
  const [, kibibytes] = /^Pss:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/smaps_rollup', 'utf8'));
  return Number(kibibytes) * 1024;
}
