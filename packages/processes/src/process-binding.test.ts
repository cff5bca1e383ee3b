import { nativeInterface } from '@coll/native/addon';
import { expect, it } from 'vitest';
import { processBinding } from './process-binding.js';

it('finds an addon of the interface that it calls', () => {
  expect(processBinding().interface).toBe(nativeInterface);
});
