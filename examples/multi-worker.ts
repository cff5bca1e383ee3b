// An all-reduce between two workers with two devices each. CPUs combine small tensors, and rings combine large tensors.
import { Mirrored, PerReplica, ReduceOp, tensor } from '@coll/core';
import { formatSpec, MultiWorkerAllReduce, parseSpec } from '@coll/multi-worker';

const workers = ['/job:worker/task:0', '/job:worker/task:1'];
const devices = workers.flatMap((worker) => [`${worker}/gpu:0`, `${worker}/gpu:1`]);

const spec = parseSpec([
  ['pscpu/pscpu', 2, 1024],
  ['xring', 2, -1],
]);
console.log(`specification: ${formatSpec(spec)}`);

await using ops = new MultiWorkerAllReduce(workers, 2, { allReduceSpec: spec });
const values = [3, 4096].map(
  (length) => new PerReplica(devices.map((device, rank) => tensor(new Float32Array(length).fill(rank), { device }))),
);
const means = await ops.batchReduce(
  ReduceOp.MEAN,
  values.map((value) => [value, value] as const),
);
for (const mean of means) {
  const components = mean instanceof Mirrored ? mean.values : [mean];
  console.log(`${components[0]?.data.length} elements:`, components.map(({ data }) => data[0]).join(' '));
}
for (const note of ops.explain().notes) console.log(note);

try {
  new MultiWorkerAllReduce(workers.slice(0, 1), 2);
} catch (error) {
  console.log(String(error));
}
