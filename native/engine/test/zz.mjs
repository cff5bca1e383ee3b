import { zeros as zerosOf } from '@coll/core';
import { directAlgorithm as algorithm } from '@coll/direct';
import { native } from '@coll/native';
import { collectGarbage } from './ranks/this-process.mjs';
const zeros = (bytes) => zerosOf('float32', [bytes / 4]);
const sum = { kind: 'all-reduce', op: 'sum' };
const communicator = native.communicator(2, algorithm);
const show = async (w) => { await collectGarbage(); const m = process.memoryUsage(); console.log(w, Object.entries(m).map(([k,v])=>`${k} ${(v/1048576).toFixed(1)}`).join(' ')); };
const mode = process.argv[2];
await show('start');
for (let i=0;i<(+process.argv[4] || 6);i++) {
  for (let call = 0; call < (+process.argv[3] || 20000); call++) {
    const buffers = [zeros(1024), zeros(1024)];
    if (mode === 'sync') communicator.runSync(sum, buffers, buffers);
    else if (mode === 'async') await communicator.run(sum, buffers, buffers);
    else if (mode === 'turn') { communicator.runSync(sum, buffers, buffers); if (call % 100 === 0) await new Promise(r => setImmediate(r)); }
  }
  await show(i);
}
