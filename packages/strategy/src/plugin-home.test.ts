import { CollError } from '@coll/core';
import { expect, it } from 'vitest';
import { loadPlugin } from './plugin-home.js';

const moduleOf = (code: string) => `data:text/javascript,${encodeURIComponent(code)}`;

it.each([
  ['null', 'export const before = null; export const found = { name: "mine", create() {} };'],
  ['undefined', 'export const before = undefined; export const found = { name: "mine", create() {} };'],
  [
    'other plug-ins',
    'export const other = { name: "other", create() {} }; export const f = { name: "mine", create() {} };',
  ],
  ['things of the same name', 'export const a = { name: "mine" }; export const found = { name: "mine", create() {} };'],
  [
    'a function of that name',
    'export function mine() {} mine.create = 1; export const z = { name: "mine", create() {} };',
  ],
])('finds the plug-in of a module beside %s', async (_, code) => {
  expect(await loadPlugin({ name: 'mine', module: moduleOf(code), options: undefined })).toEqual({
    name: 'mine',
    create: expect.any(Function),
  });
});

it('refuses a module without a plug-in of that name', async () => {
  const module = moduleOf('export const other = { name: "other", create() {} }; export const mine = { name: "mine" };');
  const loading = loadPlugin({ name: 'mine', module, options: undefined });
  await expect(loading).rejects.toBeInstanceOf(CollError);
  await expect(loading).rejects.toMatchObject({
    code: 'ERR_COLL_MODULE',
    message: expect.stringContaining(
      'exports no plug-in called "mine"; a plug-in\'s module is the one that exports it',
    ),
  });
});
