import { createRegistry, definePlugin, type ProcessGroup, registry } from '@coll/core';
import { ReductionToOneDevice } from '@coll/reduction-to-one';
import { expect, it, vi } from 'vitest';
import { openGroupByPlugin } from './plugin-groups.js';

it('openGroupByPlugin closes a group whose results cannot be compared', async () => {
  const close = vi.fn(async () => {});
  const own = createRegistry();
  own.register(
    definePlugin({
      name: 'wire',
      module: import.meta.url,
      create: () => new ReductionToOneDevice(),
      openGroup: async () => ({ close }) as unknown as ProcessGroup,
    }),
  );
  vi.spyOn(registry, 'list').mockImplementation(() => own.list());
  const info = { workers: 2, idInCluster: 0, isChief: true, task: undefined };
  expect(await openGroupByPlugin(info)).toMatchObject({ config: { plugin: { name: 'wire' }, rank: 0, size: 2 } });
  expect(close).not.toHaveBeenCalled();
  await expect(openGroupByPlugin(info, 100)).rejects.toMatchObject({ name: 'ValueError', code: 'ERR_COLL_REFUSED' });
  expect(close).toHaveBeenCalledOnce();
  vi.restoreAllMocks();
});
