import { expect, it } from 'vitest';
import { jobStore } from './job-store.js';
import { MemoryStore } from './memory-store.js';

const value = new Uint8Array([1]);

it('each job has keys of its own in one store', async () => {
  const store = new MemoryStore();
  const jobs = ['', 'monday', 'tuesday', 'x'.repeat(512), `${'x'.repeat(511)}y`];
  for (const job of jobs) expect(await jobStore(store, job).compareSet('newest', undefined, value)).toBe(true);
  for (const job of jobs) expect(await jobStore(store, job).get('newest')).toEqual(value);
  expect(await store.get('job/monday/newest')).toEqual(value);
});
