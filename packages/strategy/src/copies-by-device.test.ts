import { Mirrored, type Tensor, tensor } from '@coll/core';
import { afterEach, expect, it, vi } from 'vitest';
import { strategyOf } from '../test/strategies.js';
import { copiesByDevice } from './copies-by-device.js';

afterEach(() => {
  vi.restoreAllMocks();
});

it.each([false, true])(
  'lets the ops copy a tensor in device memory to every device (shared results: %s)',
  async (isShared) => {
    const two = strategyOf(2);
    const onDevice = { ...tensor([1]), memory: {} } as unknown as Tensor;
    const copies = two.extended.workerDevices.map((device) => tensor([1], { device }));
    const broadcast = vi.spyOn(two.extended, 'broadcastTo').mockResolvedValue(new Mirrored(copies));
    const [first, second] = await copiesByDevice(two, [onDevice, tensor([5])], isShared);
    expect(broadcast.mock.calls).toEqual([[onDevice, two.extended.workerDevices]]);
    expect([first?.[0], second?.[0]]).toEqual(copies);
    expect([first?.[1], second?.[1]]).toMatchObject([{ data: Float64Array.of(5) }, { data: Float64Array.of(5) }]);
  },
);

it('takes the one copy in device memory that ops make for one device', async () => {
  const one = strategyOf(1);
  const onDevice = { ...tensor([1]), memory: {} } as unknown as Tensor;
  vi.spyOn(one.extended, 'broadcastTo').mockResolvedValue(onDevice);
  expect(await copiesByDevice(one, [onDevice], false)).toEqual([[onDevice]]);
});
