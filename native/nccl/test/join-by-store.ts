import type { Communicator, Tensor } from '@coll/core';
import { type DeviceBuffer, type Gpu, gpus, NcclCommunicator } from '@coll/nccl';
import { TcpStore } from '@coll/rendezvous';
import type { Join } from '@coll/testing';
import './doubles.ts';

interface JoinOptions {
  readonly checkCalls?: boolean;
  /** The first process keeps its tensors on the host, the others bring theirs to their GPUs before they call. */
  readonly isMixed?: boolean;
}

/** Becomes a member of a group of processes, with as many GPUs as each has ranks; run in a process of its own. */
export const join: Join = async ({ group, member, members, size, options }) => {
  const address = process.env['COLL_TEST_STORE'] as string;
  const store = await TcpStore.connect({ address, job: 'nccl', jobKey: 'tests-only-4kQz9XvB7mLwR2' });
  const perProcess = size / members;
  const devices = Array.from({ length: perProcess }, (_, index) => `gpu:${member * perProcess + index}`);
  const request = { store, rank: member, size: members, devices, group: `group ${group}` };
  const { checkCalls = true, isMixed = false } = (options ?? {}) as JoinOptions;
  const communicator = await NcclCommunicator.connect({ ...request, checkCalls, lostAfterSeconds: 60 });
  const leave = () => store.close();
  return { communicator: isMixed && member > 0 ? ofTensorsOnGpus(communicator) : communicator, leave };
};

function ofTensorsOnGpus(communicator: NcclCommunicator): Communicator {
  const upload = (tensors: readonly Tensor[]): Promise<DeviceBuffer[]> =>
    Promise.all(
      communicator.devices.map((device, index) => {
        const { data, dtype } = tensors[index] as Tensor;
        return (gpus().find(({ name }) => name === device) as Gpu).upload(data, dtype);
      }),
    );
  return {
    size: communicator.size,
    localRanks: communicator.localRanks,
    group: communicator.group,
    refuses: (collective, dtype) => communicator.refuses(collective, dtype),
    async run(collective, inputs, outputs, options) {
      const [from, into] = await Promise.all([
        upload(inputs as readonly Tensor[]),
        upload(outputs as readonly Tensor[]),
      ]);
      const tensorsOf = (buffers: readonly DeviceBuffer[]) => buffers.map((buffer) => buffer.tensor());
      await communicator.run(collective, tensorsOf(from), tensorsOf(into), options);
      await Promise.all(into.map((buffer, index) => buffer.read((outputs[index] as Tensor).data)));
      for (const buffer of [...from, ...into]) buffer.dispose();
    },
    runSync: (...call) => communicator.runSync(...call),
    close: () => communicator.close(),
    [Symbol.asyncDispose]: () => communicator.close(),
  };
}
